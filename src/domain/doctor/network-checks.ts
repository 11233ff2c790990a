// Checks of ENIConfigs, subnets and routes.

import { cidrContainsCidr } from '../address/cidr.ts';
import {
  freeBlocksFor,
  NO_RESERVATIONS,
  reservedBlocks,
  unreservedCount,
} from '../address/subnet-reservations.ts';
import { listed } from '../explain/explain-node.ts';
import { instanceOf, type Picture } from '../explain/picture.ts';
import type { AccountPicture } from './account-picture.ts';
import { metadataPods } from './cluster-checks.ts';
import type { Found } from './finding.ts';
import { podSubnets } from './pod-sources.ts';

export function checkEniConfigs(picture: Picture): readonly Found[] {
  return [...picture.index.views.values()].flatMap((view): readonly Found[] => {
    if (view.kind === 'Valid') return [];
    if (view.kind === 'Unresolved')
      return [
        {
          severity: 'warning',
          what: view.message,
          why: 'nodes that it is chosen for wait',
          fix: 'see that the controller runs and may call ec2:DescribeSubnets and ec2:DescribeSecurityGroups',
        },
      ];
    return [
      {
        severity: 'error',
        what: view.message,
        why: 'no node can use it, and none falls back to another',
        fix: view.fix,
      },
    ];
  });
}

/** Every zone that has nodes needs an ENIConfig in it: an ENI attaches only within its zone (U48). */
export function checkZones(picture: Picture): readonly Found[] {
  if (!picture.settings.selection.customNetworking) return [];
  const covered = new Set([...podSubnets(picture).keys()].map((subnet) => subnet.zone));
  const zones = new Map<string, string[]>();
  for (const node of picture.nodes) {
    const zone = instanceOf(picture, node)?.zone ?? node.zone;
    if (zone !== undefined) zones.set(zone, [...(zones.get(zone) ?? []), node.name]);
  }
  return [...zones]
    .filter(([zone]) => !covered.has(zone))
    .map(([zone, nodes]) => ({
      severity: 'error' as const,
      what: `NoPodSubnetInZone: no usable ENIConfig has its subnet in zone ${zone}, where ${listed(nodes)} run`,
      why: 'an ENI attaches only within its zone: pods on these nodes get no address',
      fix: `create an ENIConfig with a subnet in ${zone}`,
    }));
}

/** A subnet has one role: nodes in a pods' subnet take addresses that were meant for pods, and the other way round (U101). */
export function checkRoles(picture: Picture): readonly Found[] {
  const homes = new Map<string, string[]>();
  for (const node of picture.nodes) {
    const subnet = instanceOf(picture, node)?.primarySubnetId;
    if (subnet !== undefined) homes.set(subnet, [...(homes.get(subnet) ?? []), node.name]);
  }
  return [...podSubnets(picture)].flatMap(([subnet, names]) => {
    const nodes = homes.get(subnet.subnetId);
    if (nodes === undefined) return [];
    return [
      {
        severity: 'warning' as const,
        what: `subnet ${subnet.subnetId} (${subnet.cidr}) is named by ENIConfig ${listed(names)} and is also the node subnet of ${listed(nodes)}`,
        why: 'nodes and pods take addresses from each other, and a full subnet keeps new nodes from starting',
        fix: 'give pods a subnet of their own, and name it in the ENIConfig',
      },
    ];
  });
}

/** https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/subnet_discovery/ */
const ELB_TAGS = ['kubernetes.io/role/elb', 'kubernetes.io/role/internal-elb'] as const;

/** The AWS Load Balancer Controller takes `1` and the empty text as a yes. */
const isRoleTag = (value: string | undefined): boolean => value === '1' || value === '';

export const knowsOtherRoles = (_: Picture, { controlPlane, subnetTags }: AccountPicture): boolean =>
  controlPlane !== undefined && subnetTags !== undefined;

/** The control plane and load balancers take addresses in their subnets, too, and cannot do without (U101). */
export function checkOtherRoles(picture: Picture, account: AccountPicture): readonly Found[] {
  const { controlPlane = [], subnetTags } = account;
  return [...podSubnets(picture)].flatMap(([subnet, names]): readonly Found[] => {
    const { subnetId, cidr } = subnet;
    const what = `subnet ${subnetId} (${cidr}) is named by ENIConfig ${listed(names)}`;
    const enis = controlPlane.filter((eni) => eni.subnetId === subnetId);
    const tags = ELB_TAGS.filter((tag) => isRoleTag(subnetTags?.get(subnetId)?.[tag]));
    return [
      ...(enis.length === 0
        ? []
        : [
            {
              severity: 'warning' as const,
              what: `${what} and is also one of the control plane's: ${listed(enis.map((eni) => eni.eniId))}`,
              why: 'EKS needs free addresses there to upgrade and to heal the cluster; pods that fill the subnet keep it from both',
              fix: 'give pods a subnet of their own, and name it in the ENIConfig',
            },
          ]),
      ...(tags.length === 0
        ? []
        : [
            {
              severity: 'warning' as const,
              what: `${what} and is tagged for load balancers: ${tags.join(', ')}`,
              why: 'each load balancer takes up to eight addresses there as it grows, and fails in a subnet that pods have filled',
              fix: `aws ec2 delete-tags --resources ${subnetId} --tags ${tags.map((tag) => `Key=${tag}`).join(' ')}`,
            },
          ]),
    ];
  });
}

/** Below this share of free addresses a subnet is worth a look. */
const SCARCE_SHARE = 0.1;

export function checkFreeAddresses(picture: Picture, { reservations }: AccountPicture): readonly Found[] {
  return [...podSubnets(picture)].flatMap(([subnet, names]): readonly Found[] => {
    // EC2 does not count as free what a reservation keeps, so it is no part of the whole either.
    const reserved = reservations?.get(subnet.subnetId) ?? NO_RESERVATIONS;
    const blocks = reservedBlocks(reserved);
    const outside = blocks.length === 0 ? '' : ` outside what is reserved (${listed(blocks)})`;
    const usable = unreservedCount(subnet.cidr, reserved);
    const free = subnet.freeAddressCount;
    if (free >= usable * SCARCE_SHARE && free > 1) return [];
    const isFull = free <= 1;
    return [
      {
        severity: isFull ? 'error' : 'warning',
        what: `subnet ${subnet.subnetId} (${subnet.cidr}, ${subnet.zone}) of ENIConfig ${listed(names)} has ${free} of ${usable} addresses free${outside}`,
        why: isFull
          ? 'new pods on its nodes wait, and new ENIs cannot be made'
          : 'new nodes and pods will soon find it full',
        fix: `add a subnet in ${subnet.zone} and an ENIConfig for it; eniwhere plan tells what it would buy`,
      },
    ];
  });
}

/** A free address count says nothing of whole blocks of 16, which prefixes need (U08). */
export function checkFreeBlocks(picture: Picture, { used, reservations }: AccountPicture): readonly Found[] {
  if (used === undefined) return [];
  return [...podSubnets(picture)].flatMap(([subnet, names]): readonly Found[] => {
    const taken = used.get(subnet.subnetId) ?? { addresses: [], prefixes: [] };
    const reserved = reservations?.get(subnet.subnetId) ?? NO_RESERVATIONS;
    const { prefix } = reserved;
    const free = freeBlocksFor(subnet.cidr, reserved, [...taken.addresses, ...taken.prefixes]);
    if (free > 0) return [];
    if (prefix.length > 0)
      return [
        {
          severity: 'info',
          what: `subnet ${subnet.subnetId} of ENIConfig ${listed(names)} has no free /28 in what is reserved for prefixes (${listed(prefix)})`,
          why: 'EC2 takes prefixes of nothing else while there is a reservation: nodes with prefixes find none',
          fix: `aws ec2 create-subnet-cidr-reservation --subnet-id ${subnet.subnetId} --reservation-type prefix --cidr BLOCK, for a further block, or add a subnet and an ENIConfig for it`,
        },
      ];
    if (subnet.freeAddressCount < 16) return [];
    return [
      {
        severity: 'info',
        what: `subnet ${subnet.subnetId} of ENIConfig ${listed(names)} has ${subnet.freeAddressCount} free addresses and no free /28`,
        why: 'single addresses are scattered over all blocks: nodes with prefixes find none',
        fix: `aws ec2 create-subnet-cidr-reservation --subnet-id ${subnet.subnetId} --reservation-type prefix --cidr BLOCK, for a block that is to become free`,
      },
    ];
  });
}

/** Nodes send to these destinations with the pod's own address; all others see the node's (or a NAT gateway's). */
export function checkSnat(picture: Picture, { vpcCidrs }: AccountPicture): readonly Found[] {
  return [...podSubnets(picture)].flatMap(([subnet, names]): readonly Found[] => {
    const unaware = picture.networks.filter(
      ({ spec }) =>
        spec.instance.vpcId === subnet.vpcId &&
        !spec.settings.directCidrs.some((cidr) => cidrContainsCidr(cidr, subnet.cidr)),
    );
    const inVpc = vpcCidrs?.get(subnet.vpcId)?.some((cidr) => cidrContainsCidr(cidr, subnet.cidr));
    if (unaware.length === 0) return [];
    return [
      {
        severity: 'warning',
        what: `${subnet.cidr} of ENIConfig ${listed(names)} is not among the CIDRs that ${unaware.length} nodes reach without SNAT`,
        why: 'pods of these nodes are seen there with the address of their node, and security groups of pods do not match',
        fix:
          inVpc === false
            ? `aws ec2 describe-vpcs --vpc-ids ${subnet.vpcId}: the block is not associated with the VPC`
            : 'restart the controller, which reads the blocks of the VPC, or set AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS',
      },
    ];
  });
}

/** With external SNAT pods leave by their own subnet, whose routes then have to lead somewhere. */
export function checkRoutes(picture: Picture, { defaultRoutes }: AccountPicture): readonly Found[] {
  if (defaultRoutes === undefined) return [];
  const isExternal = picture.networks.some(({ spec }) => spec.settings.externalSnat);
  return [...podSubnets(picture)].flatMap(([subnet, names]): readonly Found[] => {
    const route = defaultRoutes.get(subnet.subnetId);
    const leads = route === 'nat-gateway' || route === 'other';
    if (!isExternal || route === undefined || leads) return [];
    return [
      {
        severity: 'error',
        what:
          route === 'none'
            ? `subnet ${subnet.subnetId} of ENIConfig ${listed(names)} has no default route`
            : `the default route of subnet ${subnet.subnetId} of ENIConfig ${listed(names)} is an internet gateway`,
        why:
          route === 'none'
            ? 'with external SNAT (AWS_VPC_K8S_CNI_EXTERNALSNAT) pods leave by their own subnet, and reach nothing outside the VPC'
            : 'with external SNAT pods leave by their own subnet with private addresses, which an internet gateway drops',
        fix: `give the route table of ${subnet.subnetId} a default route to a NAT gateway, or set AWS_VPC_K8S_CNI_EXTERNALSNAT=false`,
      },
    ];
  });
}

export function checkHopLimit(picture: Picture, { hopLimits }: AccountPicture): readonly Found[] {
  const pods = metadataPods(picture);
  if (hopLimits === undefined || pods.length === 0) return [];
  return picture.nodes.flatMap((node): readonly Found[] => {
    const limit = node.instanceId === undefined ? undefined : hopLimits.get(node.instanceId);
    const here = picture.pods.filter((pod) => pod.nodeName === node.name && pods.includes(pod.key));
    if (limit !== 1 || here.length === 0) return [];
    return [
      {
        severity: 'warning',
        what: `the metadata hop limit of node ${node.name} is 1, and ${listed(here.map((pod) => pod.key))} may read instance metadata`,
        why: "a pod is one hop behind its node: EC2's answers to it are dropped on the way",
        fix: `aws ec2 modify-instance-metadata-options --instance-id ${node.instanceId} --http-put-response-hop-limit 2`,
      },
    ];
  });
}
