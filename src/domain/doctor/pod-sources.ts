// From where pods send: the groups and blocks of ENIConfigs, or of nodes where pods live in the nodes' own subnets.

import type { SubnetFacts } from '../eniconfig/eni-config.ts';
import { listed } from '../explain/explain-node.ts';
import { instanceOf, type Picture } from '../explain/picture.ts';
import type { SecurityGroupId } from '../ids.ts';
import type { FlowEnd } from './security-group-rule.ts';

export interface PodSource extends FlowEnd {
  /** As in `pods of ENIConfig a, b`. */
  readonly name: string;
  readonly subnet: SubnetFacts;
}

/** subnet -> the ENIConfigs that name it, among those that can be used */
export function podSubnets(picture: Picture): ReadonlyMap<SubnetFacts, readonly string[]> {
  const byId = new Map<string, { facts: SubnetFacts; names: string[] }>();
  for (const view of picture.index.views.values()) {
    if (view.kind !== 'Valid') continue;
    const entry = byId.get(view.subnet.subnetId) ?? { facts: view.subnet, names: [] };
    entry.names.push(view.eniConfig.name);
    byId.set(view.subnet.subnetId, entry);
  }
  return new Map([...byId.values()].map(({ facts, names }) => [facts, names]));
}

/** One per subnet and set of groups. */
export function podSources(picture: Picture): readonly PodSource[] {
  const sources = new Map<string, { source: PodSource; names: string[] }>();
  const add = (name: string, subnet: SubnetFacts, securityGroupIds: readonly SecurityGroupId[]): void => {
    const key = [subnet.subnetId, ...[...securityGroupIds].sort()].join();
    const source = { name, subnet, securityGroupIds, cidr: subnet.cidr };
    const entry = sources.get(key) ?? { source, names: [] };
    entry.names.push(name);
    sources.set(key, entry);
  };
  const ofNodes = primaryGroups(picture);
  if (picture.settings.selection.customNetworking) {
    for (const view of picture.index.views.values()) {
      if (view.kind !== 'Valid') continue;
      const own = view.eniConfig.securityGroupIds;
      // Without groups of its own it means those of each node's primary ENI (SEL-4).
      for (const groups of own.length > 0 ? [own] : ofNodes) add(view.eniConfig.name, view.subnet, groups);
    }
  } else {
    for (const node of picture.nodes) {
      const instance = instanceOf(picture, node);
      const subnet = instance === undefined ? undefined : picture.index.subnets.get(instance.primarySubnetId);
      if (instance !== undefined && subnet !== undefined)
        add(node.name, subnet, instance.primarySecurityGroupIds);
    }
  }
  const what = picture.settings.selection.customNetworking ? 'pods of ENIConfig' : 'pods of nodes';
  return [...sources.values()].map(({ source, names }) => ({ ...source, name: `${what} ${listed(names)}` }));
}

/** Every set of groups that nodes' primary ENIs have. */
function primaryGroups(picture: Picture): readonly (readonly SecurityGroupId[])[] {
  const sets = new Map<string, readonly SecurityGroupId[]>();
  for (const node of picture.nodes) {
    const groups = instanceOf(picture, node)?.primarySecurityGroupIds;
    if (groups !== undefined) sets.set([...groups].sort().join(), groups);
  }
  return [...sets.values()];
}
