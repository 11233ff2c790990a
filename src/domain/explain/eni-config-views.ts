// What is known of every ENIConfig: by EC2 when it could be asked, else by the status that the controller keeps.

import { parseCidr } from '../address/cidr.ts';
import { usableAddressCount } from '../address/subnet.ts';
import type { EniConfigView, SubnetFacts } from '../eniconfig/eni-config.ts';
import { resolveEniConfig } from '../eniconfig/resolve-eni-config.ts';
import type { SubnetId, VpcId } from '../ids.ts';
import type { Ec2Picture, PictureEniConfig, PictureFacts } from './picture.ts';

export const eniConfigViews = (picture: PictureFacts): ReadonlyMap<string, EniConfigView> =>
  new Map(picture.eniConfigs.map((object) => [object.name, viewOf(picture, object)]));

function viewOf(picture: PictureFacts, object: PictureEniConfig): EniConfigView {
  const { ec2 } = picture;
  return typeof ec2 === 'string' ? byStatus(picture, object) : byEc2(ec2, object);
}

const byEc2 = (ec2: Ec2Picture, object: PictureEniConfig): EniConfigView =>
  resolveEniConfig(object, {
    subnet: (id) => answered(ec2.subnets.get(id)),
    groupVpc: (id) => answered(ec2.groupVpcs.get(id)),
  });

const answered = <T>(value: T | undefined) =>
  value === undefined ? ({ kind: 'Gone' } as const) : ({ kind: 'Known', value } as const);

/** The controller has checked the VPC of what it calls ready; one without a status it has not looked at yet. */
function byStatus(picture: PictureFacts, object: PictureEniConfig): EniConfigView {
  const { name, labels, spec, status } = object;
  if (spec.kind === 'Malformed')
    return { kind: 'Invalid', name, labels, message: spec.message, fix: spec.fix };
  const subnet = subnetByStatus(picture, spec.eniConfig.subnetId, status);
  if (subnet !== undefined) return { kind: 'Valid', eniConfig: spec.eniConfig, subnet };
  if (status === undefined || status.ready)
    return {
      kind: 'Unresolved',
      name,
      labels,
      message: `the controller has not said anything of ENIConfig "${name}" yet`,
    };
  return { kind: 'Invalid', name, labels, message: status.message, fix: 'see the message' };
}

function subnetByStatus(
  picture: PictureFacts,
  subnetId: SubnetId,
  status: PictureEniConfig['status'],
): SubnetFacts | undefined {
  if (status?.ready !== true || status.zone === undefined || status.cidr === undefined) return undefined;
  const cidr = parseCidr(status.cidr);
  if (!cidr.ok) return undefined;
  const ipv6Cidr = status.ipv6Cidr === undefined ? undefined : parseCidr(status.ipv6Cidr);
  return {
    subnetId,
    vpcId: picture.networks[0]?.spec.instance.vpcId ?? ('' as VpcId),
    zone: status.zone,
    cidr: cidr.value,
    ...(ipv6Cidr?.ok === true ? { ipv6Cidr: ipv6Cidr.value } : {}),
    freeAddressCount: status.freeAddressCount ?? 0,
  };
}

/** Subnets of all ENIConfigs and nodes, as far as they are known. */
export function knownSubnets(
  picture: PictureFacts,
  views: ReadonlyMap<string, EniConfigView>,
): ReadonlyMap<SubnetId, SubnetFacts> {
  const found = new Map<SubnetId, SubnetFacts>();
  for (const view of views.values()) if (view.kind === 'Valid') found.set(view.subnet.subnetId, view.subnet);
  if (typeof picture.ec2 !== 'string') for (const [id, facts] of picture.ec2.subnets) found.set(id, facts);
  // What only nodes have been told of: its zone and block are known. Its free addresses are not, and it is not called
  // full for that.
  for (const { spec } of picture.networks)
    for (const eni of spec.enis)
      if (!found.has(eni.subnetId))
        found.set(eni.subnetId, {
          subnetId: eni.subnetId,
          vpcId: spec.instance.vpcId,
          zone: spec.instance.zone,
          cidr: eni.subnetCidr,
          ...(eni.subnetIpv6Cidr === undefined ? {} : { ipv6Cidr: eni.subnetIpv6Cidr }),
          freeAddressCount: usableAddressCount(eni.subnetCidr),
        });
  return found;
}
