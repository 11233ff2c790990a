// Whether a node that is to have prefixes has them and, if not, why and what to do: mode Prefix never falls back in silence.

import { ADDRESSES_PER_PREFIX, hasPrefixes } from '../instance/slots.ts';
import { blockRefusal, fillingOf } from './filling.ts';
import type { NodeView, OwnCondition } from './node-view.ts';
import { type Pool, poolOf } from './pool.ts';
import { neededSlotCount } from './warm-targets.ts';

interface Part {
  readonly view: NodeView;
  readonly pool: Pool;
}

/** Absent where mode Prefix is not set. */
export function prefixesCondition(parts: readonly Part[]): OwnCondition | undefined {
  const node = parts[0]?.view;
  // Pods without IPv4 get theirs of /80s in either mode.
  if (node === undefined || node.settings.mode !== 'Prefix' || fillingOf(node).isIpv6) return undefined;
  if (!hasPrefixes(node.limits)) return unsupported(node);
  return parts.flatMap(lackOf)[0] ?? AS_PLANNED;
}

const type = 'PrefixesAvailable' as const;

const AS_PLANNED: OwnCondition = {
  type,
  status: 'True',
  reason: 'AsPlanned',
  message: 'the node has the prefixes that it needs, or they are on their way',
};

const unsupported = ({ limits: { instanceType }, maxPods }: NodeView): OwnCondition => ({
  type,
  status: 'False',
  reason: 'NotNitro',
  message: `mode Prefix is set, and instance type ${instanceType} is not built on Nitro: EC2 gives it no prefixes, so its pods get single addresses; run at most ${maxPods} pods on it (kubelet --max-pods), take a Nitro instance type, or set mode SecondaryIP for its nodes`,
});

function lackOf({ view, pool }: Part): readonly OwnCondition[] {
  const { selection } = view;
  const refusal = blockRefusal(view);
  if (selection.kind === 'None' || refusal === undefined || !isShortOfBlocks(view, pool)) return [];
  const subnet = view.subnets.get(selection.subnetId);
  const name = selection.kind === 'EniConfig' ? ` of ENIConfig "${selection.name}"` : '';
  const which = `subnet ${selection.subnetId}${name} (${subnet?.cidr ?? 'unknown CIDR'}, ${subnet?.zone ?? 'unknown zone'})`;
  const why = `has no free block of ${ADDRESSES_PER_PREFIX} addresses (EC2: ${refusal.message})`;
  const message = `${which} ${why}: pods get single addresses until it has one, which is tried again by itself`;
  const fix = `keep whole blocks free for prefixes: aws ec2 create-subnet-cidr-reservation --subnet-id ${selection.subnetId} --reservation-type prefix --cidr BLOCK, or give the node an ENIConfig with another subnet`;
  return [{ type, status: 'False', reason: 'NoFreeBlock', message: `${message}; ${fix}` }];
}

/** Whether the pool would ask for blocks if there were any. */
function isShortOfBlocks(view: NodeView, pool: Pool): boolean {
  const counts = pool.filling.unit > 1 ? pool.counts : poolOf({ ...view, blockRefusals: new Map() }).counts;
  return neededSlotCount(view.settings.targets, counts) > 0;
}
