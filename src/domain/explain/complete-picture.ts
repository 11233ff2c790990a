// Works out, once for a picture, what is looked up for every node.

import { currentEniConfig } from '../ipam/current-eni-config.ts';
import { eniConfigViews, knownSubnets } from './eni-config-views.ts';
import type { Picture, PictureFacts, PicturePod } from './picture.ts';

export function completePicture(facts: PictureFacts): Picture {
  const views = eniConfigViews(facts);
  return {
    ...facts,
    index: {
      podsByNode: podsByNode(facts.pods),
      networks: new Map(facts.networks.map((one) => [one.name, one])),
      views,
      subnets: knownSubnets(facts, views),
      nodeCounts: nodeCounts(facts),
    },
  };
}

function podsByNode(pods: readonly PicturePod[]): ReadonlyMap<string, readonly PicturePod[]> {
  const byNode = new Map<string, PicturePod[]>();
  for (const pod of pods) {
    if (pod.nodeName === undefined || pod.hostNetwork || pod.finished) continue;
    const here = byNode.get(pod.nodeName);
    if (here === undefined) byNode.set(pod.nodeName, [pod]);
    else here.push(pod);
  }
  for (const here of byNode.values()) here.sort((a, b) => (a.key < b.key ? -1 : 1));
  return byNode;
}

function nodeCounts({ networks }: PictureFacts): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { spec } of networks) {
    const choice = currentEniConfig(spec);
    if (choice !== undefined) counts.set(choice, (counts.get(choice) ?? 0) + 1);
  }
  return counts;
}
