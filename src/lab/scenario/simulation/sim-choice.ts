// Which subnet a node should get, by a model that shares no line with the product's selection.

import type { NodeName, SubnetId } from '../../../domain/ids.ts';
import type { Choice } from '../../checkers/selection-checker.ts';
import type { PodSubnet, Zone } from './sim-vpc.ts';

export interface ChoiceModel {
  addNode(node: NodeName, zone: Zone): void;
  removeNode(node: NodeName): void;
  annotate(node: NodeName, eniConfig: string | undefined): void;
  setEniConfig(name: string, exists: boolean): void;
  subnetOf(node: NodeName): SubnetId | undefined;
}

/** `onChoice` hears every change of what a node should get. */
export function createChoiceModel(
  podSubnets: readonly PodSubnet[],
  onChoice: (choice: Choice) => void,
): ChoiceModel {
  const zones = new Map<NodeName, Zone>();
  const annotations = new Map<NodeName, string>();
  const existing = new Set(podSubnets.map((one) => one.eniConfig));
  const told = new Map<NodeName, SubnetId | undefined>();

  const subnetOf = (node: NodeName): SubnetId | undefined => {
    const zone = zones.get(node);
    const name = annotations.get(node) ?? zone;
    if (name === undefined || !existing.has(name)) return undefined;
    return podSubnets.find((one) => one.eniConfig === name && one.zone === zone)?.subnetId;
  };
  const tell = (): void => {
    for (const node of zones.keys()) {
      const subnetId = subnetOf(node);
      if (told.has(node) && told.get(node) === subnetId) continue;
      told.set(node, subnetId);
      onChoice({ node, subnetId });
    }
  };
  return {
    addNode: (node, zone) => {
      zones.set(node, zone);
      tell();
    },
    removeNode: (node) => {
      zones.delete(node);
      annotations.delete(node);
      told.delete(node);
    },
    annotate: (node, eniConfig) => {
      if (eniConfig === undefined) annotations.delete(node);
      else annotations.set(node, eniConfig);
      tell();
    },
    setEniConfig: (name, exists) => {
      if (exists) existing.add(name);
      else existing.delete(name);
      tell();
    },
    subnetOf,
  };
}
