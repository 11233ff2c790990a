// What instance metadata says, per instance.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-metadata.html#instancemetadata-data-categories

import { cidrContains } from '../../domain/address/cidr.ts';
import { type Cidr, familyOf, type Ip, type IpFamily } from '../../domain/address/ip.ts';
import type { InstanceId } from '../../domain/ids.ts';
import { assert } from '../../domain/result.ts';
import type { AttachmentTruth, EniTruth, InstanceTruth, VpcView } from './vpc-truth.ts';

type AttachedEni = EniTruth & { readonly attachment: AttachmentTruth };

const isAttachedTo =
  (instanceId: InstanceId) =>
  (eni: EniTruth): eni is AttachedEni =>
    eni.attachment?.instanceId === instanceId && eni.attachment.status === 'attached';

/** The instance that a packet with this source comes from: the one whose ENI holds the address. */
export function instanceSending(view: VpcView, source: Ip): InstanceTruth | undefined {
  const holder = view.enis.find(
    ({ primaryAddress, addresses, prefixes, ipv6Prefixes }) =>
      primaryAddress === source ||
      addresses.includes(source) ||
      [...prefixes, ...ipv6Prefixes].some((prefix) => cidrContains(prefix, source)),
  );
  return view.instances.find(({ instanceId }) => instanceId === holder?.attachment?.instanceId);
}

/** path below /latest/meta-data/ -> value */
export function metadataOf(view: VpcView, instance: InstanceTruth): ReadonlyMap<string, string> {
  const enis = view.enis
    .filter(isAttachedTo(instance.instanceId))
    .sort((a, b) => a.attachment.deviceIndex - b.attachment.deviceIndex);
  const primary = enis.find(({ eniId }) => eniId === instance.primaryEniId);
  return new Map([
    ['instance-id', instance.instanceId],
    ['instance-type', instance.instanceType],
    ['local-ipv4', instance.primaryAddress],
    ...(primary === undefined ? [] : ([['mac', primary.mac]] as const)),
    ['placement/availability-zone', instance.zone],
    // A zone's name is its Region's and a letter.
    ['placement/region', instance.zone.replace(/[a-z]$/, '')],
    ...enis.flatMap((eni) =>
      eniMetadata(view, eni).map(
        ([key, value]) => [`network/interfaces/macs/${eni.mac}/${key}`, value] as const,
      ),
    ),
  ]);
}

function eniMetadata(view: VpcView, eni: AttachedEni): readonly (readonly [string, string])[] {
  const subnet = view.subnets.find(({ subnetId }) => subnetId === eni.subnetId);
  assert(subnet !== undefined, `the subnet ${eni.subnetId} of ${eni.eniId} exists`);
  const ofFamily = (family: IpFamily): readonly Cidr[] =>
    view.cidrs.filter((cidr) => familyOf(cidr) === family);
  const lines = (values: readonly string[]): string => values.join('\n');
  const entries: readonly (readonly [string, string])[] = [
    ['device-number', String(eni.attachment.deviceIndex)],
    ['interface-id', eni.eniId],
    ['ipv4-prefix', lines(eni.prefixes)],
    ['ipv6-prefix', lines(eni.ipv6Prefixes)],
    ['local-ipv4s', lines([eni.primaryAddress, ...eni.addresses])],
    ['mac', eni.mac],
    ['network-card', String(eni.attachment.networkCardIndex)],
    ['security-group-ids', lines(eni.securityGroupIds)],
    ['subnet-id', eni.subnetId],
    ['subnet-ipv4-cidr-block', subnet.cidr],
    ['subnet-ipv6-cidr-blocks', subnet.ipv6Cidr ?? ''],
    ['vpc-id', view.vpcId],
    ['vpc-ipv4-cidr-block', view.cidrs[0] ?? ''],
    ['vpc-ipv4-cidr-blocks', lines(ofFamily(4))],
    ['vpc-ipv6-cidr-blocks', lines(ofFamily(6))],
  ];
  return entries.filter(([, value]) => value !== '');
}

/** The value at a path, or the list of what lies below it (with a slash after what has more below); or nothing. */
export function readMetadata(metadata: ReadonlyMap<string, string>, path: string): string | undefined {
  const value = metadata.get(path);
  if (value !== undefined) return value;
  const folder = path === '' || path.endsWith('/') ? path : `${path}/`;
  const below = [...metadata.keys()]
    .filter((key) => key.startsWith(folder))
    .map((key) => /^[^/]*\/?/.exec(key.slice(folder.length))?.[0] ?? '');
  return below.length === 0 ? undefined : [...new Set(below)].sort().join('\n');
}
