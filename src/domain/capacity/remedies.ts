// What would let a cluster grow further: each remedy tried on the model, with what it buys.

import { cidrPrefixLength } from '../address/cidr.ts';
import { type Forecast, forecast } from './grow.ts';
import type { CapacityModel, PlannedGroup } from './model.ts';

export interface Remedy {
  /** In the imperative: what to do. */
  readonly what: string;
  readonly nodeGain: number;
  readonly podGain: number;
}

/** The remedies that buy something, the greatest gain first. */
export function remediesFor(model: CapacityModel, base: Forecast): readonly Remedy[] {
  const tried = [...anotherSubnet(model, base), ...prefixes(model), ...fewerWarm(model)].map(
    ({ what, changed }) => {
      const then = forecast(changed);
      return { what, nodeGain: then.nodeMax - base.nodeMax, podGain: then.podMax - base.podMax };
    },
  );
  return tried.filter((one) => one.podGain > 0).sort((a, b) => b.podGain - a.podGain);
}

interface Trial {
  readonly what: string;
  readonly changed: CapacityModel;
}

/** For the subnet that is full first, and so is the one that hurts. */
function anotherSubnet(model: CapacityModel, { full }: Forecast): readonly Trial[] {
  const first = full[0];
  const subnet = model.subnets.find((one) => one.name === first?.subnet);
  if (subnet === undefined) return [];
  const { zone, cidr, for: role } = subnet;
  const twin = { name: `${subnet.name}-second`, zone, cidr, for: role, otherCount: 0 };
  const groups = model.groups.map((group) =>
    group.eniConfigs.includes(subnet.name)
      ? { ...group, eniConfigs: [...group.eniConfigs, twin.name] }
      : group,
  );
  return [
    {
      what: `add another /${cidrPrefixLength(cidr)} for ${role} in zone ${zone}`,
      changed: { subnets: [...model.subnets, twin], groups },
    },
  ];
}

const changeGroup = (
  model: CapacityModel,
  group: PlannedGroup,
  with_: Partial<PlannedGroup>,
): CapacityModel => ({
  ...model,
  groups: model.groups.map((one) => (one === group ? { ...one, ...with_ } : one)),
});

function prefixes(model: CapacityModel): readonly Trial[] {
  return model.groups
    .filter((group) => group.mode === 'SecondaryIP' && group.limits.hypervisor !== 'xen')
    .map((group) => ({
      what: `give group ${group.name} prefixes (mode Prefix)`,
      changed: changeGroup(model, group, { mode: 'Prefix' }),
    }));
}

const FEW_WARM_ADDRESSES = 1;

function fewerWarm(model: CapacityModel): readonly Trial[] {
  return model.groups
    .filter((group) => group.mode === 'SecondaryIP')
    .map((group) => ({
      what: `hold ${FEW_WARM_ADDRESSES} warm address per node of group ${group.name} (WARM_IP_TARGET=${FEW_WARM_ADDRESSES})`,
      changed: changeGroup(model, group, {
        targets: { ...group.targets, warmIp: FEW_WARM_ADDRESSES, minimumIp: 0 },
      }),
    }));
}
