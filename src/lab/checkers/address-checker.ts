// IP-1, IP-2, IP-5, IP-6, IP-7: an address serves one pod, is really there, rests, and is not taken back unasked.

import type { Ip } from '../../domain/address/ip.ts';
import type { NodeName } from '../../domain/ids.ts';
import { INSTANCE_TAG } from '../../domain/ipam/tags.ts';
import { holdsForPods } from '../ec2/pod-addresses.ts';
import { EC2_CALL_MAX_MS } from '../../domain/leadership/lease.ts';
import type { NodeNetworkRecord } from '../../ports/cluster.ts';
import type { Ec2Eni } from '../../ports/ec2.ts';
import type { Ec2Change } from '../ec2/region.ts';
import { addressesOf, type Checker, type LiveSandbox, type WorldTruth } from './checker.ts';

/** Follows every address through its pods. */
export function createAddressChecker(world: WorldTruth): Checker {
  // address -> where its last pod's DEL began, and when
  const released = new Map<Ip, { readonly node: NodeName; readonly at: number }>();
  const checkUnassigned = createUnassignChecker(world);
  const restOf = (ip: Ip): number => world.now() - (released.get(ip)?.at ?? Number.NEGATIVE_INFINITY);
  return {
    onAdded: (sandbox) => {
      checkAlone(world, sandbox);
      const restedMs = restOf(sandbox.address);
      // What somebody took from the node may meanwhile have served elsewhere: no agent can know.
      if (restedMs < world.cooldownMs && !world.isRobbed(sandbox)) {
        world.broken('IP-5', `${sandbox.address} serves ${sandbox.pod} after only ${restedMs} ms of rest`);
      }
      checkGranted(world, sandbox);
      checkOnNode(world, sandbox);
    },
    onDeleting: (sandbox) => {
      // What somebody else took away may long serve elsewhere.
      if (!world.isRobbed(sandbox)) released.set(sandbox.address, { node: sandbox.node, at: world.now() });
    },
    onDiskLost: (node) => {
      for (const [ip, last] of released) if (last.node === node) released.delete(ip);
    },
    onEc2Change: (change) => {
      if (change.kind === 'AddressesChanged' && world.isController(change.actor)) {
        checkUnassigned(change);
        for (const ip of change.unassigned) {
          if (restOf(ip) < world.cooldownMs)
            world.broken('WD-2', `${ip} was unassigned after only ${restOf(ip)} ms of rest`);
        }
      }
      if (!world.isController(change.actor)) {
        // By no doing of ours EC2 may give it to anybody at once.
        const lost = contentLost(change);
        for (const ip of released.keys()) if (holdsForPods(lost, ip)) released.delete(ip);
        return;
      }
      const mayMove =
        change.kind === 'AddressesChanged' ||
        change.kind === 'AttachmentChanged' ||
        change.kind === 'EniDeleted';
      if (mayMove) for (const sandbox of world.live.values()) checkOnNode(world, sandbox);
    },
  };
}

/** What is no longer the ENI's. */
function contentLost(change: Ec2Change): Pick<Ec2Eni, 'addresses' | 'prefixes' | 'ipv6Prefixes'> {
  if (change.kind === 'EniDeleted') return change.eni;
  const { unassigned = [], ipv6Unassigned = [] } = change.kind === 'AddressesChanged' ? change : {};
  return { addresses: unassigned, prefixes: [], ipv6Prefixes: ipv6Unassigned };
}

function checkAlone(world: WorldTruth, sandbox: LiveSandbox): void {
  const { address, node, pod, containerId } = sandbox;
  for (const other of world.live.values()) {
    if (other.address !== address || other.containerId === containerId) continue;
    if (world.isRobbed(other) || world.isRobbed(sandbox)) continue;
    world.broken('IP-1', `${address} is live in ${other.pod} on ${other.node} and in ${pod} on ${node}`);
  }
}

function checkGranted(world: WorldTruth, { address, node, pod }: LiveSandbox): void {
  const status = world.cluster.nodeNetwork(node)?.status;
  if (status?.withdrawn.includes(address) === true) {
    world.broken('IP-6', `${address} serves ${pod}, and status.withdrawn of ${node} lists it`);
  }
  const instanceId = world.instanceOf(node);
  const attached = instanceId === undefined ? [] : world.ec2.enisOf(instanceId);
  const primary = attached.find((eni) => eni.attachment?.deviceIndex === 0);
  if (primary !== undefined && holdsForPods(primary, address))
    world.broken('IP-7', `${pod} has ${address} of a primary ENI`);
}

function checkOnNode(world: WorldTruth, sandbox: LiveSandbox): void {
  const { node, pod } = sandbox;
  if (world.isRobbed(sandbox)) return;
  const instanceId = world.instanceOf(node);
  const attached = instanceId === undefined ? [] : world.ec2.enisOf(instanceId);
  for (const ip of addressesOf(sandbox)) {
    const isThere = attached.some((eni) => holdsForPods(eni, ip) && eni.attachment?.status === 'attached');
    if (!isThere) world.broken('IP-2', `${pod} lives with ${ip}, which no ENI attached to ${node} holds`);
  }
}

type AddressesChanged = Extract<Ec2Change, { kind: 'AddressesChanged' }>;

/**
 * What is unassigned must have been let go of: by the object as it is, or as it was when the call was sent, which may be
 * deleted since, or may have had the agent forget the address. It must not have been granted anew.
 */
function createUnassignChecker(world: WorldTruth): (change: AddressesChanged) => void {
  const before = new Map<string, NodeNetworkRecord>();
  let past: readonly { readonly record: NodeNetworkRecord; readonly at: number }[] = [];
  world.cluster.onChange(({ kind, type, object }) => {
    if (kind !== 'NodeNetwork') return;
    const earlier = before.get(object.name);
    if (type === 'Deleted') before.delete(object.name);
    else before.set(object.name, object);
    const isShorter = earlier?.status.withdrawn.some((ip) => !object.status.withdrawn.includes(ip)) ?? false;
    const record = type === 'Deleted' ? object : isShorter ? earlier : undefined;
    if (record === undefined) return;
    past = [...past.filter(({ at }) => world.now() - at <= EC2_CALL_MAX_MS), { record, at: world.now() }];
  });
  return ({ eni, unassigned, sentAt }) => {
    const instanceId = eni.attachment?.instanceId ?? eni.tags[INSTANCE_TAG];
    const ofInstance = (record: NodeNetworkRecord): boolean => record.spec.instance.instanceId === instanceId;
    const present = world.cluster.list('NodeNetwork').filter(ofInstance);
    const lately = past.flatMap(({ record, at }) => (at >= sentAt && ofInstance(record) ? [record] : []));
    const granted = new Set(present.flatMap(({ spec }) => spec.enis.flatMap(({ addresses }) => addresses)));
    const withdrawn = new Set(present.flatMap(({ status }) => status.withdrawn));
    const forgotten = new Set(lately.flatMap(({ status }) => status.withdrawn));
    for (const ip of unassigned) {
      if (!withdrawn.has(ip) && (granted.has(ip) || !forgotten.has(ip)))
        world.broken('IP-6', `${ip} was unassigned, and the agent had not let go of it`);
    }
  };
}
