// Which subnet a node should get, by a model that shares no line with the product's selection.

import type { NodeName, SubnetId } from '../../../domain/ids.ts';
import type { SelectionModel } from '../../checkers/selection-checker.ts';
import type { PodSubnet, Zone } from './sim-vpc.ts';

export interface ChoiceModel extends SelectionModel {
  addNode(node: NodeName, zone: Zone): void;
  annotate(node: NodeName, eniConfig: string | undefined): void;
  setEniConfig(name: string, exists: boolean): void;
  /** The subnet by the objects as they are; undefined: none. */
  subnetOf(node: NodeName): SubnetId | undefined;
}

/** A name that a node had, or an ENIConfig's life; `until` is Infinity while it lasts. */
interface Span {
  readonly name: string;
  until: number;
}

/** `now` in milliseconds since the epoch. */
export function createChoiceModel(podSubnets: readonly PodSubnet[], now: () => number): ChoiceModel {
  const zones = new Map<NodeName, Zone>();
  /** node -> names of the ENIConfig that its annotation, or else its zone, named, oldest first */
  const named = new Map<NodeName, Span[]>();
  const lives: Span[] = podSubnets.map((one) => ({ name: one.eniConfig, until: Infinity }));

  const end = (spans: readonly Span[]): void => {
    for (const span of spans) span.until = Math.min(span.until, now());
  };
  const seenSince = (spans: readonly Span[], since: number): readonly string[] =>
    spans.filter((span) => span.until >= since).map((span) => span.name);
  const subnets = (node: NodeName, since: number): ReadonlySet<SubnetId> => {
    const alive = new Set(seenSince(lives, since));
    const names = new Set(seenSince(named.get(node) ?? [], since));
    const fitting = podSubnets.filter(
      (one) => names.has(one.eniConfig) && alive.has(one.eniConfig) && one.zone === zones.get(node),
    );
    return new Set(fitting.map((one) => one.subnetId));
  };
  return {
    nodes: () => [...zones.keys()],
    addNode: (node, zone) => {
      zones.set(node, zone);
      named.set(node, [{ name: zone, until: Infinity }]);
    },
    annotate: (node, eniConfig) => {
      const spans = named.get(node) ?? [];
      end(spans);
      named.set(node, [...spans, { name: eniConfig ?? zones.get(node) ?? '', until: Infinity }]);
    },
    setEniConfig: (name, exists) => {
      end(lives.filter((span) => span.name === name));
      if (exists) lives.push({ name, until: Infinity });
    },
    possibleSubnets: (node, lagMs) => subnets(node, now() - lagMs),
    subnetOf: (node) => [...subnets(node, Infinity)][0],
  };
}
