// The truth of one VPC, read from the simulated EC2.

import type { VpcId } from '../../domain/ids.ts';
import type { LabEc2 } from '../ec2/lab-ec2.ts';
import type { VpcTruth } from './vpc-truth.ts';

/** A VPC that does not exist reads as an empty one. */
export function vpcTruthOf(ec2: Pick<LabEc2, 'truth' | 'onChange'>, vpcId: VpcId): VpcTruth {
  const inVpc = (object: { readonly vpcId: VpcId }): boolean => object.vpcId === vpcId;
  return {
    read: () => ({
      vpcId,
      cidrs: ec2.truth.vpcs().find(inVpc)?.cidrs ?? [],
      subnets: ec2.truth.subnets().filter(inVpc),
      securityGroups: ec2.truth.securityGroups().filter(inVpc),
      instances: ec2.truth.instances().filter(inVpc),
      enis: ec2.truth.enis().filter(inVpc),
    }),
    onChange: (notify) => ec2.onChange(notify),
  };
}
