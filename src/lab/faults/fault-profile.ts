// How a whole simulated world behaves: every fault's odds, and the profile in force now.

import { type ClusterProfile, calmCluster } from '../cluster/cluster-profile.ts';
import { calmEc2, demoEc2, type Ec2Profile } from '../ec2/ec2-profile.ts';

/** Faults of nodes, their processes, their kernels and the container runtime. */
export interface NodeProfile {
  /** Per controller. */
  readonly controllerCrashesPerHour: number;
  /** Per agent. */
  readonly agentCrashesPerHour: number;
  /** Per node: kernel state is gone, the journal is kept. */
  readonly rebootsPerHour: number;
  /** Odds, per crash of an agent or reboot, that the journal's last record is torn. */
  readonly tornJournalOdds: number;
  /** Odds, per ADD, that the runtime asks again before the answer. */
  readonly repeatedAddOdds: number;
  /** Odds, per ADD, that the runtime sends DEL before the answer. */
  readonly earlyDelOdds: number;
  /** Odds, per deleted pod, that no DEL comes and only GC tells. */
  readonly missingDelOdds: number;
  /** Odds, per call of the network stack, that the kernel refuses it. */
  readonly stackErrorOdds: number;
  /** From `attached` in EC2 to the link in the guest, at most. */
  readonly linkLateMaxMs: number;
}

/** What people and other tools do to the account, in occurrences per hour of the whole world. */
export interface PersonProfile {
  /** Others fill a subnet, and leave it again. */
  readonly subnetFillingsPerHour: number;
  /** A permission is taken away, and given back. */
  readonly permissionLossesPerHour: number;
  /** Another tool uses up a bucket of tokens. */
  readonly tokenSpreesPerHour: number;
  /** An ENI of somebody else appears on an instance, and goes again. */
  readonly foreignEnisPerHour: number;
}

export interface KernelProfile {
  /** Events of the same time in an order drawn by seed. Read once, when the kernel is made. */
  readonly randomTies: boolean;
}

export interface FaultProfile {
  readonly ec2: Ec2Profile;
  readonly cluster: ClusterProfile;
  readonly node: NodeProfile;
  readonly person: PersonProfile;
  readonly kernel: KernelProfile;
}

/** No faults: the liveness phase, and tests of what is done rather than of what is survived. */
export const calm: FaultProfile = {
  ec2: calmEc2,
  cluster: calmCluster,
  node: {
    controllerCrashesPerHour: 0,
    agentCrashesPerHour: 0,
    rebootsPerHour: 0,
    tornJournalOdds: 0,
    repeatedAddOdds: 0,
    earlyDelOdds: 0,
    missingDelOdds: 0,
    stackErrorOdds: 0,
    linkLateMaxMs: 500,
  },
  person: {
    subnetFillingsPerHour: 0,
    permissionLossesPerHour: 0,
    tokenSpreesPerHour: 0,
    foreignEnisPerHour: 0,
  },
  kernel: { randomTies: false },
};

/** No faults, and quick: for people who watch. */
export const demo: FaultProfile = { ...calm, ec2: demoEc2, node: { ...calm.node, linkLateMaxMs: 200 } };

/** The profile in force now, and the hand that changes it: the worlds read it at every call. */
export interface FaultDial {
  profile(): FaultProfile;
  ec2(): Ec2Profile;
  cluster(): ClusterProfile;
  set(profile: FaultProfile): void;
}

export function createFaultDial(initial: FaultProfile): FaultDial {
  let current = initial;
  return {
    profile: () => current,
    ec2: () => current.ec2,
    cluster: () => current.cluster,
    set: (profile) => {
      current = profile;
    },
  };
}
