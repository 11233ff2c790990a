// What people do to address families: they change those of the whole cluster, and give subnets their IPv6 blocks or take them.

import type { SeededRandom } from '../../kernel/seeded-random.ts';
import { chance, pick } from '../../kernel/draw.ts';
import type { SimEc2 } from '../../ec2/sim-ec2.ts';
import type { ChoiceModel } from './sim-choice.ts';
import type { SimFamilies } from './sim-families.ts';
import { ipv6BlockOf, type SimVpcPlan } from './sim-vpc.ts';

export interface FamilyDeps {
  readonly ec2: SimEc2;
  readonly vpc: SimVpcPlan;
  readonly choices: ChoiceModel;
  readonly families: SimFamilies;
  readonly tell: (text: string) => void;
  /** The Deployment has other settings: all controllers are started again. */
  readonly restartControllers: () => void;
}

export interface FamilyDeeds {
  changeCluster(): void;
  /** A subnet gets its block, the same as before or another, or loses it where no ENI has addresses of it. */
  changeBlock(): void;
}

const OTHER_BLOCK_ODDS = 0.5;

export function familyDeeds(deps: FamilyDeps, random: SeededRandom): FamilyDeeds {
  const { ec2, vpc, choices, families, tell } = deps;
  const subnetIds = [...vpc.podSubnets.map(({ subnetId }) => subnetId), ...vpc.nodeSubnets.values()];
  return {
    changeCluster: () => {
      const now = families.change();
      choices.setClusterFamilies(now);
      tell(`the cluster's address families are ${now.join(' and ')}`);
      deps.restartControllers();
    },
    changeBlock: () => {
      const subnetId = pick(random, subnetIds);
      const isOther = chance(random, OTHER_BLOCK_ODDS);
      if (ec2.truth.subnet(subnetId)?.ipv6Cidr === undefined) {
        if (!ec2.admin.associateIpv6Block(subnetId, ipv6BlockOf(subnetId, isOther)).ok) return;
      } else if (!ec2.admin.disassociateIpv6Block(subnetId).ok) return;
      const block = ec2.truth.subnet(subnetId)?.ipv6Cidr;
      choices.setIpv6Block(subnetId, block !== undefined);
      tell(`subnet ${subnetId} has ${block === undefined ? 'no IPv6 block' : `the IPv6 block ${block}`}`);
    },
  };
}
