// What people get wrong in ENIConfigs: subnets and groups of another VPC, or of none, and text that names nothing.

import type { EniConfig } from '../../../domain/eniconfig/eni-config.ts';
import type { SecurityGroupId, SubnetId, VpcId } from '../../../domain/ids.ts';
import type { Random } from '../../../ports/random.ts';
import type { EniConfigRecord } from '../../../ports/cluster.ts';
import { parseEniConfigSpec } from '../../../protocol/crd/eni-config.ts';
import type { Ec2Admin } from '../../ec2/ec2-admin.ts';
import { GROUPS_PER_ENI_MAX } from '../../ec2/security-group.ts';
import { pick } from '../../kernel/draw.ts';

/** What is in the account beside what the nodes' ENIConfigs name at the start. */
export interface Strangers {
  readonly vpcId: VpcId;
  /** Of another VPC, one in each zone. */
  readonly subnets: readonly { readonly subnetId: SubnetId; readonly zone: string }[];
  /** Of the other VPC. */
  readonly groupId: SecurityGroupId;
  /** Of the nodes' VPC; people delete it, and make it again. */
  readonly passingGroupId: SecurityGroupId;
  /** Of the nodes' VPC: with the passing one more than an ENI may have. */
  readonly moreGroupIds: readonly SecurityGroupId[];
}

const OTHER_VPC = 'vpc-00000001' as VpcId;
const NO_SUBNET = 'subnet-000000ff' as SubnetId;
const NO_GROUP = 'sg-000000ff' as SecurityGroupId;
const OTHER_VPC_CIDR = '10.1.0.0/16';

type Make = Pick<Ec2Admin, 'createVpc' | 'createSubnet' | 'createSecurityGroup'>;

/** Makes them. `cidr` reads a block that is known to be well-formed. */
export function makeStrangers(
  admin: Make,
  from: { readonly vpcId: VpcId; readonly zones: readonly string[] },
  cidr: (text: string) => Parameters<Make['createSubnet']>[0]['cidr'],
): Strangers {
  const group = (vpcId: VpcId, name: string, securityGroupId: string): SecurityGroupId => {
    admin.createSecurityGroup({ vpcId, name, securityGroupId: securityGroupId as SecurityGroupId });
    return securityGroupId as SecurityGroupId;
  };
  // With an id of its own, so that what else is drawn stays as it is.
  const defaultSecurityGroupId = 'sg-00000020' as SecurityGroupId;
  admin.createVpc({ vpcId: OTHER_VPC, cidrs: [cidr(OTHER_VPC_CIDR)], defaultSecurityGroupId });
  const subnets = from.zones.map((zone, n) => {
    const subnetId = `subnet-0000009${n}` as SubnetId;
    admin.createSubnet({ vpcId: OTHER_VPC, zone, cidr: cidr(`10.1.${n}.0/26`), subnetId });
    return { subnetId, zone };
  });
  return {
    vpcId: OTHER_VPC,
    subnets,
    groupId: group(OTHER_VPC, 'strangers', 'sg-00000021'),
    passingGroupId: group(from.vpcId, 'passing', PASSING_GROUP),
    moreGroupIds: Array.from({ length: GROUPS_PER_ENI_MAX }, (_, n) =>
      group(from.vpcId, `more-${n}`, `sg-0000003${n}`),
    ),
  };
}

const PASSING_GROUP = 'sg-00000022';

/** Deletes the passing group, which EC2 refuses while an ENI has it, or makes it again. True: it is there now. */
export function togglePassingGroup(
  admin: Pick<Ec2Admin, 'createSecurityGroup' | 'deleteSecurityGroup'>,
  { passingGroupId }: Strangers,
  vpcId: VpcId,
): boolean {
  const making = { vpcId, name: 'passing', securityGroupId: passingGroupId };
  return admin.createSecurityGroup(making).ok || !admin.deleteSecurityGroup(passingGroupId).ok;
}

/** One of the wrong ways to write the ENIConfig, which says `good` when it is right, as its author writes it. */
export function drawMistake(
  random: Random,
  strangers: Strangers,
  good: Pick<EniConfig, 'subnetId' | 'securityGroupIds'>,
): unknown {
  const { subnetId: subnet, securityGroupIds } = good;
  const stranger = pick(random, strangers.subnets).subnetId;
  const groups = [...securityGroupIds];
  return pick<unknown>(random, [
    { subnet: NO_SUBNET, securityGroups: groups },
    { subnet: stranger, securityGroups: groups },
    { subnet: stranger, securityGroups: [strangers.groupId] },
    { subnet: stranger },
    { subnet, securityGroups: [...groups, strangers.groupId] },
    { subnet, securityGroups: [...groups, NO_GROUP] },
    { subnet, securityGroups: [strangers.passingGroupId] },
    { subnet, securityGroups: [...groups, strangers.passingGroupId] },
    { subnet, securityGroups: [] },
    { subnet },
    { subnet, securityGroups: [...strangers.moreGroupIds, ...groups] },
    { subnet: 'the pods subnet', securityGroups: groups },
    { subnet: `${subnet} `, securityGroups: groups },
    { subnet, securityGroups: 'pods' },
    { subnet, securityGroups: ['default'] },
    { subnetId: subnet, securityGroups: groups },
    undefined,
  ]);
}

/** What the API server's reader makes of it. */
export function specOf(
  name: string,
  labels: Readonly<Record<string, string>>,
  written: unknown,
): EniConfigRecord['spec'] {
  const parsed = parseEniConfigSpec(name, labels, written);
  return parsed.ok ? { kind: 'Parsed', eniConfig: parsed.value } : { kind: 'Malformed', ...parsed.error };
}
