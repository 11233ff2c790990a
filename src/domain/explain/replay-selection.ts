// The selection of a node, made anew from the picture: the controller's own rules, with every one that was tried.

import type { AddressFamily } from '../address/families.ts';
import { settingsClassOf } from '../eniconfig/class-of-node.ts';
import type { EniConfigUse } from '../eniconfig/class-strategy.ts';
import { checkedForFamilies, viewsForFamilies } from '../eniconfig/family-needs.ts';
import type { ClassOverrides } from '../eniconfig/node-network-class.ts';
import { selectEniConfig, type SelectionDecision } from '../eniconfig/select-eni-config.ts';
import type { SelectionNode } from '../eniconfig/selection-node.ts';
import { currentEniConfig } from '../ipam/current-eni-config.ts';
import { instanceOf, networkOf, type Picture, type PictureNode } from './picture.ts';

export interface ReplayedSelection {
  readonly decision: SelectionDecision;
  /** The class that claims the node, if one does. */
  readonly className?: string;
  readonly overrides: ClassOverrides;
  /** What pods of the node are to get. */
  readonly families: readonly AddressFamily[];
}

const NO_OVERRIDES: ClassOverrides = {};

/** Undefined while nobody knows the node's instance: neither EC2 nor a NodeNetwork. */
export function replaySelection(picture: Picture, node: PictureNode): ReplayedSelection | undefined {
  const selected = selectionNodeOf(picture, node);
  if (selected === undefined) return undefined;
  const current = currentEniConfig(networkOf(picture, node.name)?.spec);
  const found = settingsClassOf(picture.classes, selected);
  const overrides = found?.overrides ?? NO_OVERRIDES;
  // What the controller's own settings say is known by what it has published.
  const published = networkOf(picture, node.name)?.spec.addressFamilies;
  const families = overrides.addressFamilies ?? published ?? picture.settings.addressFamilies;
  const decided = selectEniConfig({
    node: { kind: 'Readable', node: selected },
    eniConfigs: { kind: 'Readable', byName: viewsForFamilies(picture.index.views, families) },
    classes: picture.classes,
    ...(current === undefined ? {} : { current }),
    use: useBesides(picture, node.name),
    settings: picture.settings.selection,
  });
  const limits = picture.limits.get(selected.instanceType);
  const nodeSubnet = picture.index.subnets.get(selected.primarySubnetId);
  const selection =
    limits === undefined
      ? decided.selection
      : checkedForFamilies(decided.selection, { families, limits, nodeSubnet });
  return {
    decision: { ...decided, selection },
    ...(found === undefined ? {} : { className: found.name }),
    overrides,
    families,
  };
}

function selectionNodeOf(picture: Picture, node: PictureNode): SelectionNode | undefined {
  const instance = instanceOf(picture, node);
  if (instance === undefined) return undefined;
  const { name, labels, annotations } = node;
  const { zone, vpcId, instanceType, primaryAddress, primarySubnetId, primarySecurityGroupIds } = instance;
  return {
    name,
    labels,
    annotations,
    zone,
    vpcId,
    instanceType,
    primaryAddress,
    primarySubnetId,
    primarySecurityGroupIds,
  };
}

/** What the other nodes make of each ENIConfig, by what is published. */
function useBesides(picture: Picture, name: string): ReadonlyMap<string, EniConfigUse> {
  const own = currentEniConfig(networkOf(picture, name)?.spec);
  return new Map(
    [...picture.index.nodeCounts].map(([choice, count]) => [
      choice,
      { nodeCount: choice === own ? count - 1 : count, pendingCount: 0 },
    ]),
  );
}
