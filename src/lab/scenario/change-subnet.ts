// The steps by which others change a subnet: its tags, and who holds its addresses.

import type { Result } from '../../domain/result.ts';
import { subnetOf } from './scenario.ts';
import type { Lab } from './lab.ts';
import type { Action } from './step-schema.ts';

export type SubnetAction = Extract<
  Action,
  {
    verb: 'occupyAddresses' | 'fragmentSubnet' | 'defragmentSubnet' | 'freeAddresses' | 'tagSubnet';
  }
>;

/** Does it; answers the sentence for the report. */
export async function changeSubnet({ scenario, ec2 }: Lab, action: SubnetAction): Promise<string> {
  const { hand } = ec2;
  const { id, name } = subnetOf(scenario, action.request.subnet);
  const freeCount = (): number => ec2.truth.subnet(id)?.freeAddressCount ?? 0;
  switch (action.verb) {
    case 'occupyAddresses': {
      const taken = await hand.occupyAddresses(id, Math.max(0, freeCount() - action.request.leaveFree));
      return `others take ${countOf(taken)} addresses of ${name}, ${freeCount()} are free`;
    }
    case 'fragmentSubnet': {
      const taken = await hand.fragmentSubnet(id);
      return `others take an address in each of ${countOf(taken)} free blocks of ${name}, ${freeCount()} addresses are free`;
    }
    case 'defragmentSubnet':
      return `others give back ${countOf(await hand.defragmentSubnet(id))} addresses scattered over ${name}`;
    case 'freeAddresses': {
      const count = countOf(await hand.vacateAddresses(id, action.request.count));
      return `others give back ${count} ${count === 1 ? 'address' : 'addresses'} of ${name}`;
    }
    case 'tagSubnet': {
      await hand.setSubnetTags(id, action.request.tags);
      const texts = Object.entries(action.request.tags).map(([key, value]) => `${key}=${value}`);
      return `subnet ${name} has ${texts.length === 0 ? 'no tags' : texts.join(' ')}`;
    }
  }
}

const countOf = (result: Result<number, unknown>): number => (result.ok ? result.value : 0);
