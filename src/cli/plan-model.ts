// From a plan's file to the model: settings changed by --what-if, limits of the instance types filled in.

import { parse } from 'yaml';
import type { CapacityModel, PlannedGroup, PlannedSubnet } from '../domain/capacity/model.ts';
import type { InstanceLimits } from '../domain/instance/instance-limits.ts';
import { err, ok, type Result } from '../domain/result.ts';
import { type CapacityPlan, parseCapacityPlan } from '../protocol/capacity-plan.ts';

/** One `--what-if KEY=VALUE`: NAME.FIELD[.FIELD] of a group or subnet, or all.FIELD of all groups. */
export interface Change {
  readonly key: string;
  readonly value: unknown;
}

export function parseChange(text: string): Result<Change, string> {
  const at = text.indexOf('=');
  const key = text.slice(0, Math.max(0, at));
  if (!/^[^.]+(\.[^.]+)+$/.test(key))
    return err(
      `"${text}": expected NAME.FIELD=VALUE, as in workers.mode=Prefix or all.targets.WARM_IP_TARGET=2`,
    );
  const raw = text.slice(at + 1);
  // Words and numbers mean what they mean in the file.
  const number = Number(raw);
  return ok({ key, value: raw !== '' && Number.isFinite(number) ? number : raw });
}

interface RawPlan {
  readonly subnets: readonly Record<string, unknown>[];
  readonly groups: readonly Record<string, unknown>[];
}

/** `text` is YAML; a new subnet is one of `added`. */
export function readPlan(
  text: string,
  changes: readonly Change[] = [],
  added: readonly Record<string, unknown>[] = [],
): Result<CapacityPlan, readonly string[]> {
  let raw: unknown;
  try {
    raw = parse(text);
  } catch (error) {
    return err([error instanceof Error ? error.message : String(error)]);
  }
  const first = parseCapacityPlan(raw);
  if (!first.ok || (changes.length === 0 && added.length === 0)) return first;
  let plan = raw as RawPlan;
  plan = { ...plan, subnets: [...plan.subnets, ...added] };
  for (const change of changes) {
    const changed = applyChange(plan, change);
    if (!changed.ok) return err([changed.error]);
    plan = changed.value;
  }
  return parseCapacityPlan(plan);
}

function applyChange(plan: RawPlan, { key, value }: Change): Result<RawPlan, string> {
  const names = [...plan.groups, ...plan.subnets].map((one) => String(one['name']));
  // Names may have dots, so the longest one that the key begins with is meant.
  const [target] = [...names, 'all']
    .filter((name) => key.startsWith(`${name}.`))
    .sort((a, b) => b.length - a.length);
  if (target === undefined)
    return err(
      `--what-if: there is no group or subnet "${key.split('.')[0]}"; there are ${names.join(', ')}, and all for all groups`,
    );
  const fields = key.slice(target.length + 1).split('.');
  const set = (one: Record<string, unknown>): Record<string, unknown> =>
    one['name'] === target ? setField(one, fields, value) : one;
  return ok(
    target === 'all' && !names.includes('all')
      ? { ...plan, groups: plan.groups.map((one) => setField(one, fields, value)) }
      : { ...plan, groups: plan.groups.map(set), subnets: plan.subnets.map(set) },
  );
}

function setField(
  one: Record<string, unknown>,
  [field = '', ...rest]: readonly string[],
  value: unknown,
): Record<string, unknown> {
  if (rest.length === 0) return { ...one, [field]: value };
  const inner = one[field];
  const object = typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>) : {};
  return { ...one, [field]: setField(object, rest, value) };
}

export function modelOf(
  plan: CapacityPlan,
  limits: ReadonlyMap<string, InstanceLimits>,
): Result<CapacityModel, readonly string[]> {
  const podZones = [...new Set(plan.subnets.filter((one) => one.for === 'pods').map((one) => one.zone))];
  const groups: PlannedGroup[] = [];
  const unknown: string[] = [];
  for (const group of plan.groups) {
    const known = limits.get(group.instanceType);
    if (known === undefined) {
      unknown.push(`group "${group.name}": instance type "${group.instanceType}" is not known`);
      continue;
    }
    const { WARM_IP_TARGET, MINIMUM_IP_TARGET, WARM_ENI_TARGET, WARM_PREFIX_TARGET, MAX_ENI } = group.targets;
    groups.push({
      name: group.name,
      limits: known,
      zones: group.zones ?? podZones,
      eniConfigs: group.eniConfigs,
      strategy: group.strategy,
      mode: group.mode,
      nodeCount: group.nodes,
      podsPerNode: group.podsPerNode,
      targets: {
        ...(WARM_IP_TARGET === undefined ? {} : { warmIp: WARM_IP_TARGET }),
        ...(MINIMUM_IP_TARGET === undefined ? {} : { minimumIp: MINIMUM_IP_TARGET }),
        warmEni: WARM_ENI_TARGET,
        warmPrefix: WARM_PREFIX_TARGET,
        ...(MAX_ENI === undefined ? {} : { maxEni: MAX_ENI }),
      },
    });
  }
  if (unknown.length > 0) return err(unknown);
  return ok({ subnets: plan.subnets.map(subnetOf), groups });
}

const subnetOf = (written: CapacityPlan['subnets'][number]): PlannedSubnet => {
  const { name, zone, cidr, for: role, used, reservedForPrefixes: prefix, reserved: explicit } = written;
  return {
    name,
    zone,
    cidr,
    for: role,
    otherCount: used,
    ...(prefix.length + explicit.length === 0
      ? {}
      : { reservations: { prefix, explicit }, otherBlockCount: written.usedBlocks }),
  };
};
