// What EC2 does to attach a network interface to an instance and to take it off again, which both take their time.

import type { AttachmentId, EniId, InstanceId } from '../../domain/ids.ts';
import { ok, type Result } from '../../domain/result.ts';
import type { AttachEniRequest, Ec2Eni, Ec2Failure, Ec2Instance, EniAttachment } from '../../ports/ec2.ts';
import { chance, drawBetween } from '../kernel/draw.ts';
import {
  attachmentNotFound,
  attachmentNotSettled,
  badValue,
  deviceIndexTaken,
  deviceIndexZero,
  eniFull,
  eniNotAvailable,
  eniNotFound,
  instanceFull,
  instanceNotFound,
  instanceNotUsable,
  noPrefixesOnXen,
  otherVpc,
  otherZone,
  type Refusal,
} from './ec2-errors.ts';
import { attachedEnis, newId, type Region } from './region.ts';

type Ec2Result<T> = Result<T, Ec2Failure>;

/** AttachNetworkInterface: answers at once, while the attachment is still on its way. */
export function attachEni(region: Region, request: AttachEniRequest): Ec2Result<AttachmentId> {
  const eni = region.enis.get(request.eniId);
  if (eni === undefined) return eniNotFound(request.eniId);
  const instance = region.instances.get(request.instanceId);
  if (instance === undefined) return instanceNotFound(request.instanceId);
  const refusal = attachRefusal(region, { eni, instance, request });
  if (refusal !== undefined) return refusal;
  const attachment: EniAttachment = {
    attachmentId: newId(region, 'eni-attach'),
    instanceId: request.instanceId,
    deviceIndex: request.deviceIndex,
    networkCardIndex: request.networkCardIndex,
    deleteOnTermination: false,
    status: 'attaching',
  };
  putAttachment(region, eni, attachment);
  region.clock.timer(attachDelay(region), `attached:${eni.eniId}`, () =>
    completeAttach(region, eni.eniId, attachment.attachmentId),
  );
  return ok(attachment.attachmentId);
}

function attachRefusal(
  region: Region,
  {
    eni,
    instance,
    request,
  }: { readonly eni: Ec2Eni; readonly instance: Ec2Instance; readonly request: AttachEniRequest },
): Refusal | undefined {
  const { instanceId, instanceType } = instance;
  if (instance.state !== 'running' && instance.state !== 'pending' && instance.state !== 'stopped') {
    return instanceNotUsable(instanceId, instance.state);
  }
  if (eni.status !== 'available') return eniNotAvailable(eni.eniId);
  if (eni.zone !== instance.zone) return otherZone(eni.eniId, instanceId);
  if (eni.vpcId !== instance.vpcId) return otherVpc(eni.eniId, instanceId);
  const limits = region.instanceLimits.get(instanceType);
  if (limits === undefined) return badValue(`Invalid instance type: ${instanceType}`);
  if (request.networkCardIndex < 0 || request.networkCardIndex >= limits.networkCardCount) {
    return badValue(`Network card index ${request.networkCardIndex} exceeds the limit for ${instanceType}.`);
  }
  const onCard = attachedEnis(region, instanceId).filter(
    ({ attachment }) => attachment?.networkCardIndex === request.networkCardIndex,
  );
  if (onCard.some(({ attachment }) => attachment?.deviceIndex === request.deviceIndex)) {
    return deviceIndexTaken(instanceId, request.deviceIndex);
  }
  if (onCard.length >= limits.eniMax) return instanceFull(instanceId, limits.eniMax, instanceType);
  if (1 + eni.addresses.length + eni.prefixes.length > limits.ipv4PerEniMax) {
    return eniFull(eni.eniId, limits.ipv4PerEniMax);
  }
  if (eni.ipv6Prefixes.length > limits.ipv6PerEniMax) return eniFull(eni.eniId, limits.ipv6PerEniMax);
  if (eni.prefixes.length + eni.ipv6Prefixes.length > 0 && limits.hypervisor === 'xen') {
    return noPrefixesOnXen(instanceType);
  }
  return undefined;
}

/** Ties an ENI to an instance, or changes the tie's state; the ENI's own state follows. */
export function putAttachment(region: Region, eni: Ec2Eni, attachment: EniAttachment): Ec2Eni {
  const status = attachment.status === 'attached' ? 'in-use' : attachment.status;
  const changed: Ec2Eni = { ...eni, status, attachment };
  region.enis.put(eni.eniId, changed);
  const near = region.enisNear.get(attachment.instanceId) ?? new Set();
  region.enisNear.set(attachment.instanceId, near.add(eni.eniId));
  region.attachments.set(attachment.attachmentId, eni.eniId);
  region.emit({ kind: 'AttachmentChanged', eni: changed, attachment, status: attachment.status });
  return changed;
}

function completeAttach(region: Region, eniId: EniId, attachmentId: AttachmentId): void {
  const eni = region.enis.get(eniId);
  // The instance may have been terminated, or a person have pulled the ENI off, meanwhile.
  if (eni?.attachment?.attachmentId !== attachmentId || eni.attachment.status !== 'attaching') return;
  putAttachment(region, eni, { ...eni.attachment, status: 'attached' });
}

/** DetachNetworkInterface: answers at once; the ENI is available only later. */
export function detachEni(region: Region, attachmentId: AttachmentId): Ec2Result<void> {
  const attached = region.attachments.get(attachmentId);
  const eni = attached && region.enis.get(attached);
  if (eni?.attachment === undefined) return attachmentNotFound(attachmentId);
  if (eni.attachment.deviceIndex === 0) return deviceIndexZero(attachmentId);
  if (eni.attachment.status !== 'attached') {
    return attachmentNotSettled(attachmentId, eni.attachment.status);
  }
  const { eniId } = eni;
  putAttachment(region, eni, { ...eni.attachment, status: 'detaching' });
  region.clock.timer(detachDelay(region), `detached:${eniId}`, () => {
    const now = region.enis.get(eniId);
    if (now?.attachment?.attachmentId === attachmentId) removeAttachment(region, now);
  });
  return ok(undefined);
}

/** The end of an attachment, however it came about. */
export function removeAttachment(region: Region, eni: Ec2Eni): Ec2Eni {
  const { attachment, ...rest } = eni;
  if (attachment === undefined) return eni;
  const changed: Ec2Eni = { ...rest, status: 'available' };
  region.attachments.delete(attachment.attachmentId);
  region.enis.put(eni.eniId, changed);
  region.emit({ kind: 'AttachmentChanged', eni: changed, attachment, status: 'detached' });
  return changed;
}

/** Lowest device index of card 0 that is free: what the console and the lab choose. */
export function freeDeviceIndex(region: Region, instanceId: InstanceId): number {
  const taken = new Set(attachedEnis(region, instanceId).map(({ attachment }) => attachment?.deviceIndex));
  let index = 1;
  while (taken.has(index)) index += 1;
  return index;
}

function attachDelay(region: Region): number {
  const { attachMinMs, attachMaxMs, attachSlowOdds, attachSlowMs } = region.profile();
  if (!chance(region.draws.delays, attachSlowOdds))
    return drawBetween(region.draws.delays, { min: attachMinMs, max: attachMaxMs });
  region.struck('attachSlowOdds');
  return attachSlowMs;
}

function detachDelay(region: Region): number {
  const { detachMinMs, detachMaxMs, detachStuckOdds, detachStuckMs } = region.profile();
  if (!chance(region.draws.delays, detachStuckOdds))
    return drawBetween(region.draws.delays, { min: detachMinMs, max: detachMaxMs });
  region.struck('detachStuckOdds');
  return detachStuckMs;
}
