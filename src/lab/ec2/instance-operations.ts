// What EC2 does to instances: launch with a primary ENI, terminate with what becomes of the ENIs.

import type { InstanceId, SecurityGroupId, SubnetId } from '../../domain/ids.ts';
import { ok, type Result } from '../../domain/result.ts';
import type { Ec2Failure, Ec2Instance } from '../../ports/ec2.ts';
import { putAttachment, removeAttachment } from './attachment-operations.ts';
import { alreadyThere, badValue, instanceNotFound, instanceNotUsable } from './ec2-errors.ts';
import { createEni, removeEni } from './eni-operations.ts';
import { attachedEnis, newId, type Region } from './region.ts';

type Ec2Result<T> = Result<T, Ec2Failure>;

/** DescribeInstances goes on showing a terminated instance for about an hour. */
const TERMINATED_VISIBLE_MS = 3_600_000;

export interface LaunchRequest {
  readonly instanceType: string;
  readonly subnetId: SubnetId;
  readonly securityGroupIds: readonly SecurityGroupId[];
  /** Drawn when absent. */
  readonly instanceId?: InstanceId;
}

/** RunInstances for one instance, which is running at once: how long boots take is no matter here. */
export function launchInstance(region: Region, request: LaunchRequest): Ec2Result<Ec2Instance> {
  forgetTerminated(region);
  if (!region.instanceLimits.has(request.instanceType)) {
    return badValue(`Invalid instance type: ${request.instanceType}`);
  }
  const instanceId = request.instanceId ?? newId(region, 'i');
  if (region.instances.get(instanceId) !== undefined) return alreadyThere(instanceId);
  const made = createEni(region, {
    subnetId: request.subnetId,
    securityGroupIds: request.securityGroupIds,
    secondaryAddressCount: 0,
    prefixCount: 0,
    ipv6PrefixCount: 0,
    description: '',
    tags: {},
  });
  if (!made.ok) return made;
  const eni = made.value;
  const instance: Ec2Instance = {
    instanceId,
    instanceType: request.instanceType,
    zone: eni.zone,
    vpcId: eni.vpcId,
    state: 'running',
    primaryEniId: eni.eniId,
    primaryAddress: eni.primaryAddress,
    primarySubnetId: eni.subnetId,
    primarySecurityGroupIds: eni.securityGroupIds,
  };
  putInstance(region, instance);
  putAttachment(region, eni, {
    attachmentId: newId(region, 'eni-attach'),
    instanceId,
    deviceIndex: 0,
    networkCardIndex: 0,
    deleteOnTermination: true,
    status: 'attached',
  });
  return ok(instance);
}

function putInstance(region: Region, instance: Ec2Instance): void {
  region.instances.put(instance.instanceId, instance);
  region.emit({ kind: 'InstanceChanged', instance });
}

/** TerminateInstances for one instance. Terminating it again changes nothing, as in AWS. */
export function terminateInstance(region: Region, instanceId: InstanceId): Ec2Result<void> {
  const instance = region.instances.get(instanceId);
  if (instance === undefined) return instanceNotFound(instanceId);
  if (instance.state === 'shutting-down' || instance.state === 'terminated') return ok(undefined);
  putInstance(region, { ...instance, state: 'shutting-down' });
  region.clock.timer(region.profile().terminateMs, `terminated:${instanceId}`, () =>
    completeTermination(region, instanceId),
  );
  return ok(undefined);
}

/** StopInstances and StartInstances for one instance, done at once: its ENIs stay attached. */
export function setInstancePower(region: Region, instanceId: InstanceId, isOn: boolean): Ec2Result<void> {
  const instance = region.instances.get(instanceId);
  if (instance === undefined) return instanceNotFound(instanceId);
  if (instance.state !== 'running' && instance.state !== 'stopped') {
    return instanceNotUsable(instanceId, instance.state);
  }
  putInstance(region, { ...instance, state: isOn ? 'running' : 'stopped' });
  return ok(undefined);
}

function completeTermination(region: Region, instanceId: InstanceId): void {
  const instance = region.instances.get(instanceId);
  if (instance === undefined) return;
  for (const eni of attachedEnis(region, instanceId)) {
    const detached = removeAttachment(region, eni);
    if (eni.attachment?.deleteOnTermination === true) removeEni(region, detached);
  }
  putInstance(region, { ...instance, state: 'terminated' });
  region.terminatedAt.set(instanceId, region.clock.now());
}

/** Drops the instances that have been terminated for long; they are kept in the order of their end. */
export function forgetTerminated(region: Region): void {
  const cut = region.clock.now() - TERMINATED_VISIBLE_MS;
  for (const [instanceId, at] of region.terminatedAt) {
    if (at >= cut) break;
    region.terminatedAt.delete(instanceId);
    region.instances.delete(instanceId);
    region.enisNear.delete(instanceId);
  }
}
