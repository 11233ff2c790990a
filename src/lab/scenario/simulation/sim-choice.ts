// Which subnet and groups a node should get, by a model that shares no line with the product's selection.

import type { NodeName, SecurityGroupId, SubnetId } from '../../../domain/ids.ts';
import type { Place, SelectionModel } from '../../checkers/selection-checker.ts';
import type { PodSubnet, Zone } from './sim-vpc.ts';

/** What an ENIConfig says. */
export interface EniConfigContent {
  readonly subnetId: SubnetId;
  readonly securityGroupIds: readonly SecurityGroupId[];
}

/** What a person wrote on a node; undefined: nothing. */
interface NodeWords {
  readonly annotation: string | undefined;
  readonly label: string | undefined;
}

export interface ChoiceModel extends SelectionModel {
  addNode(node: NodeName, zone: Zone): void;
  annotate(node: NodeName, eniConfig: string | undefined): void;
  label(node: NodeName, eniConfig: string | undefined): void;
  /** `undefined`: deleted. */
  setEniConfig(name: string, content: EniConfigContent | undefined): void;
  /** The place by the objects as they are; undefined: none. */
  placeOf(node: NodeName): Place | undefined;
}

/** A name that a node had, or an ENIConfig's content; `until` is Infinity while it lasts. */
interface Span {
  readonly name: string;
  readonly content?: EniConfigContent;
  until: number;
}

/** `now` in milliseconds since the epoch. */
export function createChoiceModel(subnets: readonly PodSubnet[], now: () => number): ChoiceModel {
  const zones = new Map<NodeName, Zone>();
  const words = new Map<NodeName, NodeWords>();
  /** node -> the names that decided for it, oldest first */
  const named = new Map<NodeName, Span[]>();
  const lives: Span[] = [];
  const zoneOf = new Map(subnets.map((one) => [one.subnetId, one.zone]));

  const end = (spans: readonly Span[]): void => {
    for (const span of spans) span.until = Math.min(span.until, now());
  };
  const write = (node: NodeName, change: Partial<NodeWords>): void => {
    const next = { annotation: undefined, label: undefined, ...words.get(node), ...change };
    words.set(node, next);
    const spans = named.get(node) ?? [];
    end(spans);
    const name = next.annotation ?? next.label ?? zones.get(node) ?? '';
    named.set(node, [...spans, { name, until: Infinity }]);
  };
  const places = (node: NodeName, since: number): readonly Place[] => {
    const names = new Set((named.get(node) ?? []).filter(({ until }) => until >= since).map((s) => s.name));
    return lives
      .filter(({ name, until }) => until >= since && names.has(name))
      .flatMap(({ name, content }) => (content === undefined ? [] : [{ name, ...content }]))
      .filter(({ subnetId }) => zoneOf.get(subnetId) === zones.get(node));
  };
  return {
    nodes: () => [...zones.keys()],
    addNode: (node, zone) => {
      zones.set(node, zone);
      write(node, {});
    },
    annotate: (node, annotation) => write(node, { annotation }),
    label: (node, label) => write(node, { label }),
    setEniConfig: (name, content) => {
      end(lives.filter((span) => span.name === name));
      if (content !== undefined) lives.push({ name, content, until: Infinity });
    },
    possiblePlaces: (node, lagMs) => places(node, now() - lagMs),
    placeOf: (node) => places(node, Infinity)[0],
  };
}
