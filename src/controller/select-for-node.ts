// The ENIConfig of one node, by all that is believed of the cluster and of EC2.

import { settingsClassOf } from '../domain/eniconfig/class-of-node.ts';
import type { EniConfigView } from '../domain/eniconfig/eni-config.ts';
import { checkedForFamilies, viewsForFamilies } from '../domain/eniconfig/family-needs.ts';
import type { ClassOverrides, NamedClass } from '../domain/eniconfig/node-network-class.ts';
import { selectEniConfig } from '../domain/eniconfig/select-eni-config.ts';
import type { SelectionNode } from '../domain/eniconfig/selection-node.ts';
import type { Selection } from '../domain/eniconfig/selection.ts';
import type { InstanceLimits } from '../domain/instance/instance-limits.ts';
import { currentEniConfig } from '../domain/ipam/current-eni-config.ts';
import type { NodeRecord } from '../ports/cluster.ts';
import type { Ec2Instance } from '../ports/ec2.ts';
import type { ClusterView } from './cluster-view.ts';
import type { ControllerSettings } from './controller-settings.ts';
import { type Ec2View, knownValue } from './ec2-view.ts';
import type { EniConfigUses } from './eni-config-uses.ts';
import { resolveEniConfigs } from './resolve-eni-configs.ts';

interface SelectionSources {
  readonly cluster: ClusterView;
  readonly ec2: Ec2View;
  readonly settings: ControllerSettings;
  readonly uses: EniConfigUses;
}

const NOTHING: ClassOverrides = {};

export interface NodeSelection {
  readonly selection: Selection;
  readonly overrides: ClassOverrides;
  readonly node: SelectionNode;
  readonly byName: ReadonlyMap<string, EniConfigView>;
}

/** Selects, remembers the choice, and tells what the class of the node sets. */
export function selectForNode(
  node: NodeRecord,
  { instance, limits }: { readonly instance: Ec2Instance; readonly limits: InstanceLimits },
  from: SelectionSources,
): NodeSelection {
  const { cluster, settings, uses } = from;
  const classes: readonly NamedClass[] = [...cluster.classes.values()];
  const selected = selectionNodeOf(node, instance);
  const current = currentEniConfig(cluster.nodeNetworks.get(node.name)?.spec);
  const overrides = settingsClassOf(classes, selected)?.overrides ?? NOTHING;
  const families = overrides.addressFamilies ?? settings.addressFamilies;
  const byName = viewsForFamilies(resolveEniConfigs(cluster, from.ec2), families);
  const decided = selectEniConfig({
    node: { kind: 'Readable', node: selected },
    eniConfigs: { kind: 'Readable', byName },
    classes,
    ...(current === undefined ? {} : { current }),
    use: classes.some(looksAtOthers) ? uses.besides(node.name) : new Map(),
    settings,
  });
  const nodeSubnet = knownValue(from.ec2.subnets, instance.primarySubnetId);
  const selection = checkedForFamilies(decided.selection, { families, limits, nodeSubnet });
  if (selection.kind === 'EniConfig') uses.decided(node.name, selection.name);
  return { selection, overrides, node: selected, byName };
}

/** The node as selection sees it. The zone is EC2's. */
export const selectionNodeOf = (node: NodeRecord, instance: Ec2Instance): SelectionNode => ({
  name: node.name,
  labels: node.labels,
  annotations: node.annotations,
  zone: instance.zone,
  vpcId: instance.vpcId,
  instanceType: instance.instanceType,
  primaryAddress: instance.primaryAddress,
  primarySubnetId: instance.primarySubnetId,
  primarySecurityGroupIds: instance.primarySecurityGroupIds,
});

const looksAtOthers = ({ spec }: NamedClass): boolean =>
  spec.kind === 'Parsed' && ['MostFree', 'Spread'].includes(spec.nodeNetworkClass.strategy);
