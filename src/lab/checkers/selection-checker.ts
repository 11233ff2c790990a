// SEL-1: an ENI is only made in a subnet and with groups that the node's selection may really have named, and none while a person's choice is wrong.

import type { ClassStrategy } from '../../domain/eniconfig/node-network-class.ts';
import type { AddressFamily } from '../../domain/address/families.ts';
import type { NodeName, SecurityGroupId, SubnetId } from '../../domain/ids.ts';
import type { Mode } from '../../domain/ipam/mode.ts';
import { INSTANCE_TAG } from '../../domain/ipam/tags.ts';
import type { Checker, WorldTruth } from './checker.ts';
import type { PodWishes, Wish } from './pod-wishes.ts';

/** Where an ENI for pods may be made, and with what. */
export interface Place {
  /** ENIConfig that names it. */
  readonly name: string;
  readonly subnetId: SubnetId;
  readonly securityGroupIds: readonly SecurityGroupId[];
}

/** What nodes should get, by a model of the workload's own. */
export interface SelectionModel {
  nodes(): readonly NodeName[];
  /**
   * Places that somebody may take for the node's who sees each object as it was at some time of the last `lagMs`
   * milliseconds: watches of different kinds are late by different times. Empty: none, the choice is wrong.
   */
  possiblePlaces(node: NodeName, lagMs: number): readonly Place[];
  /** The same for pods of the node that wish so. */
  chosenPlaces(node: NodeName, wishes: readonly Wish[], lagMs: number): readonly Place[];
  /** By the objects as they are. More than one where the choice depends on what was chosen before; empty: it is wrong. */
  rightPlaces(node: NodeName): readonly Place[];
  /** Whether a class of the node's said at that time that ENIs of an earlier choice go on taking pods. */
  mayKeep(node: NodeName, lagMs: number): boolean;
  /** Addresses to hold ahead of demand, where a class of the node's says so. */
  warmIpOf(node: NodeName): number | undefined;
  /** How the node's class chooses, where it has one that can be read. */
  strategyOf(node: NodeName): ClassStrategy | undefined;
  /** What its pods get, by the objects and the cluster's settings as they are. */
  familiesOf(node: NodeName): readonly AddressFamily[];
  /** What somebody may take for that who sees each of them as it was at some time of the last `lagMs` milliseconds. */
  possibleFamilies(node: NodeName, lagMs: number): readonly (readonly AddressFamily[])[];
  /** Single addresses or blocks, where a class of the node's says so. */
  modeOf(node: NodeName): Mode | undefined;
  /** Whether the subnet had the tag of the class at some time of the last `lagMs` milliseconds. */
  hasTag(subnetId: SubnetId, className: string, lagMs: number): boolean;
  /** The well-formed classes, and for those that name subnets by their tag the ones that have it. */
  taggedClasses(): readonly TaggedClass[];
}

export interface TaggedClass {
  readonly name: string;
  readonly isTagged: boolean;
  readonly subnetIds: readonly SubnetId[];
}

/**
 * How long a choice may still lead to an ENI after it was replaced: a watch that hangs (45 s), an outage of the API
 * server and the list after it (31 s), a create that is repeated (60 s), and EC2's own time for it.
 */
export const LAG_MS = 150_000;

/** Compares every ENI made for a node with what the node could be taken to want. */
export function createSelectionChecker(world: WorldTruth, model: SelectionModel, wishes: PodWishes): Checker {
  return {
    onEc2Change: (change) => {
      if (change.kind !== 'EniCreated' || !world.isController(change.actor)) return;
      const { eni } = change;
      const node = model.nodes().find((name) => world.instanceOf(name) === eni.tags[INSTANCE_TAG]);
      if (node === undefined) return;
      const possible = [
        ...model.possiblePlaces(node, world.lagMs),
        ...model.chosenPlaces(node, wishes.wishesOn(node, world.lagMs), world.lagMs),
      ];
      if (possible.some((place) => textOf(place) === textOf(eni))) return;
      const named = possible.length === 0 ? 'none' : possible.map(textOf).join(', ');
      world.broken(
        'SEL-1',
        `an ENI was made for ${node} in ${textOf(eni)}; its selection and its pods named ${named}`,
      );
    },
  };
}

const textOf = ({ subnetId, securityGroupIds }: Omit<Place, 'name'>): string =>
  `${subnetId} with ${[...securityGroupIds].sort().join(' and ')}`;
