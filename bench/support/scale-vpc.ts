// The VPC of the large cluster: three zones, in each a subnet for nodes and one for pods.

import { parseCidr } from '../../src/domain/address/cidr.ts';
import type { Cidr } from '../../src/domain/address/ip.ts';
import type { SecurityGroupId, SubnetId, VpcId } from '../../src/domain/ids.ts';
import { assert } from '../../src/domain/result.ts';
import type { SimCluster } from '../../src/lab/cluster/sim-cluster.ts';
import type { SimEc2 } from '../../src/lab/ec2/sim-ec2.ts';
import type { Ec2Instance } from '../../src/ports/ec2.ts';

const VPC = 'vpc-00000000' as VpcId;
const GROUP = 'sg-0000000a' as SecurityGroupId;
const INSTANCE_TYPE = 'm5.xlarge';
export const ZONES = ['z-a', 'z-b', 'z-c'] as const;

const nodeSubnet = (zone: number): SubnetId => `subnet-0000000${zone}` as SubnetId;
const podSubnet = (zone: number): SubnetId => `subnet-0000001${zone}` as SubnetId;

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  assert(parsed.ok, `${text} is a CIDR`);
  return parsed.value;
}

export function makeScaleVpc(ec2: SimEc2, cluster: SimCluster): void {
  ec2.admin.setInstanceLimits([
    {
      instanceType: INSTANCE_TYPE,
      eniMax: 4,
      ipv4PerEniMax: 15,
      ipv6PerEniMax: 15,
      networkCardCount: 1,
      hypervisor: 'nitro',
      vcpuCount: 4,
    },
  ]);
  ec2.admin.createVpc({ vpcId: VPC, cidrs: [cidr('10.0.0.0/8')] });
  ec2.admin.createSecurityGroup({ vpcId: VPC, name: 'all', securityGroupId: GROUP });
  ZONES.forEach((zone, n) => {
    ec2.admin.createSubnet({ vpcId: VPC, zone, cidr: cidr(`10.${n}.0.0/16`), subnetId: nodeSubnet(n) });
    ec2.admin.createSubnet({ vpcId: VPC, zone, cidr: cidr(`10.${10 + n}.0.0/16`), subnetId: podSubnet(n) });
    const eniConfig = { name: zone, labels: {}, subnetId: podSubnet(n), securityGroupIds: [GROUP] };
    cluster.admin.applyEniConfig({ name: zone, spec: { kind: 'Parsed', eniConfig } });
  });
}

export function launchIn(ec2: SimEc2, zone: number): Ec2Instance {
  const launched = ec2.admin.launchInstance({
    instanceType: INSTANCE_TYPE,
    subnetId: nodeSubnet(zone),
    securityGroupIds: [GROUP],
  });
  assert(launched.ok, 'an instance can be launched');
  return launched.value;
}
