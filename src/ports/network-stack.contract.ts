// What every NetworkStack does, on whatever kernel: run by the Linux adapter and by the lab's memory stack.

import { afterEach, beforeEach, describe } from 'node:test';
import { hostContract, hostRefusals } from './network-stack-host.contract.ts';
import { notificationContract } from './network-stack-notifications.contract.ts';
import {
  inspectionContract,
  unwiringContract,
  wiringContract,
  wiringRefusals,
} from './network-stack-pods.contract.ts';
import type { Current, NetworkStackWorld } from './network-stack-world.contract.ts';

export interface NetworkStackContract {
  /** Names the implementation in test titles. */
  readonly name: string;
  /** Why it cannot run here. */
  readonly skip: string | false;
  readonly makeWorld: () => Promise<NetworkStackWorld>;
}

/** Declares the suite. */
export function networkStackContract({ name, skip, makeWorld }: NetworkStackContract): void {
  describe(`NetworkStack: ${name}`, { skip }, () => {
    let world: NetworkStackWorld;
    const current: Current = () => world;
    beforeEach(async () => {
      world = await makeWorld();
    });
    afterEach(async () => {
      await world.close();
    });
    wiringContract(current);
    wiringRefusals(current);
    unwiringContract(current);
    inspectionContract(current);
    hostContract(current);
    hostRefusals(current);
    notificationContract(current);
  });
}
