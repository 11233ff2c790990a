// SEL-14: the controller makes ENIConfigs of subnets that carry a class's tags, and of no others; in the end one for each.

import { CLASS_LABEL } from '../../domain/eniconfig/select-by-class.ts';
import type { EniConfigRecord } from '../../ports/cluster.ts';
import type { AnyStoreChange } from '../cluster/object-store.ts';
import type { Checker, WorldTruth } from './checker.ts';
import type { SelectionModel } from './selection-checker.ts';

export interface OwnConfigChecker extends Checker {
  onClusterChange(change: AnyStoreChange): void;
}

/** Nobody but the controller writes the label. */
export function createOwnConfigChecker(world: WorldTruth, model: SelectionModel): OwnConfigChecker {
  return {
    onClusterChange: (change) => {
      if (change.kind !== 'EniConfig' || change.type !== 'Applied') return;
      const { object, before } = change;
      const owner = object.labels[CLASS_LABEL];
      if (owner === undefined || object.generation === before?.generation) return;
      const subnetId = subnetOf(object);
      if (subnetId === undefined || !model.hasTag(subnetId, owner, world.lagMs))
        world.broken(
          'SEL-14',
          `ENIConfig ${object.name} was made of ${subnetId}, without the tag of ${owner}`,
        );
    },
    atRest: () => {
      const configs = world.cluster.list('EniConfig');
      for (const { name, isTagged, subnetIds } of model.taggedClasses()) {
        const own = configs.filter(({ labels }) => labels[CLASS_LABEL] === name);
        // Where no subnet has the tag any more, what was made stays.
        if (isTagged && subnetIds.length === 0) continue;
        const made = own.map((config) => subnetOf(config) ?? '').sort();
        if (made.join(' ') !== [...subnetIds].sort().join(' '))
          world.broken('SEL-14', `class ${name} has made "${made.join(' ')}" of "${subnetIds.join(' ')}"`);
      }
      const owners = new Set(model.taggedClasses().map(({ name }) => name));
      for (const { name, labels } of configs) {
        const owner = labels[CLASS_LABEL];
        const isGone =
          owner !== undefined &&
          !owners.has(owner) &&
          world.cluster.get('NodeNetworkClass', owner) === undefined;
        if (isGone) world.broken('SEL-14', `ENIConfig ${name} was made for class ${owner}, which is gone`);
      }
    },
  };
}

const subnetOf = ({ spec }: EniConfigRecord) =>
  spec.kind === 'Parsed' ? spec.eniConfig.subnetId : undefined;
