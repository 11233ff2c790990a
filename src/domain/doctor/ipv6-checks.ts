// Checks of what pods with IPv6 need, before a node meets it.

import type { NamedClass } from '../eniconfig/node-network-class.ts';
import { candidateNames } from '../eniconfig/select-by-class.ts';
import { viewsForFamilies } from '../eniconfig/family-needs.ts';
import { listed } from '../explain/explain-node.ts';
import type { Picture } from '../explain/picture.ts';
import type { Found } from './finding.ts';

/** ENIConfigs without an IPv6 block, by those who want IPv6 of them. */
export function checkIpv6Blocks(picture: Picture): readonly Found[] {
  const { views } = picture.index;
  const wanted = new Map<string, string[]>();
  const want = (names: readonly string[], who: string): void => {
    for (const name of names) wanted.set(name, [...(wanted.get(name) ?? []), who]);
  };
  for (const found of picture.classes)
    want(wantedByClass(found, picture), `NodeNetworkClass "${found.name}"`);
  if (picture.settings.addressFamilies.includes('IPv6')) want([...views.keys()], 'ENABLE_IPv6');
  return [...viewsForFamilies(views, ['IPv6'])].flatMap(([name, view]): readonly Found[] => {
    const who = wanted.get(name);
    const asItIs = views.get(name);
    if (who === undefined || view.kind !== 'Invalid' || asItIs?.kind !== 'Valid') return [];
    return [
      {
        severity: 'error',
        what: `${listed(who)} wants IPv6 of ENIConfig "${name}", whose subnet ${asItIs.subnet.subnetId} has no IPv6 block`,
        why: 'it is passed over for these nodes, and where no other serves their pods get no address',
        fix: view.fix,
      },
    ];
  });
}

function wantedByClass({ spec }: NamedClass, picture: Picture): readonly string[] {
  if (spec.kind !== 'Parsed') return [];
  const { nodeNetworkClass } = spec;
  if (nodeNetworkClass.overrides.addressFamilies?.includes('IPv6') !== true) return [];
  return candidateNames(nodeNetworkClass, picture.index.views);
}
