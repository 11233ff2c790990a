// The simulated EC2 as a lab sees it, whether it runs in the lab's process or in another one.

import type { Ec2 } from '../../ports/ec2.ts';
import type { Ec2Admin } from './ec2-admin.ts';
import type { Ec2Truth } from './ec2-truth.ts';
import type { SimEc2 } from './sim-ec2.ts';

/** The lab's hand in EC2, by calls that may have to travel. They take effect before they are answered. */
export type Ec2Hand = {
  readonly [Call in keyof Ec2Admin]: (
    ...request: Parameters<Ec2Admin[Call]>
  ) => Promise<ReturnType<Ec2Admin[Call]>>;
};

/** What really is. From another process it is some milliseconds old, but never older than the last answer of the hand. */
export type LabTruth = Omit<Ec2Truth, 'brokenRules' | 'instanceLimits'>;

export interface LabEc2 extends Pick<SimEc2, 'onChange' | 'onAttachment'> {
  /** Where it is, when it is not in this process: for the head of a report. */
  readonly elsewhere?: string;
  readonly hand: Ec2Hand;
  readonly truth: LabTruth;
  /** EC2 as the product calls it. */
  client(name: string): Ec2;
  close(): Promise<void>;
}

/** EC2 in this process. */
export function labEc2Of(sim: SimEc2): LabEc2 {
  const { admin } = sim;
  const calls = Object.entries(admin) as readonly [string, (...request: unknown[]) => unknown][];
  return {
    hand: Object.fromEntries(
      calls.map(([name, call]) => [name, (...request: unknown[]) => Promise.resolve(call(...request))]),
    ) as unknown as Ec2Hand,
    truth: sim.truth,
    onChange: sim.onChange,
    onAttachment: sim.onAttachment,
    client: (name) => sim.client({ name }),
    close: () => Promise.resolve(),
  };
}
