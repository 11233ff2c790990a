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
  /** Odds, per call of a controller that changes something, that it crashes before the answer. */
  readonly controllerCrashInCallOdds: number;
  /** Odds, per end of a controller, that it lives on for a moment, though its lease is over and another one leads. */
  readonly leaderOverlapOdds: number;
  /** How far the clock of a new process is off, to either side, at most: clocks are set between two lives. */
  readonly controllerClockSkewMaxMs: number;
  readonly agentClockSkewMaxMs: number;
  /** Two controllers contend for the lease by the real election, rather than one after the other. Read once, at the start. */
  readonly twoControllers: boolean;
  /** Pods get IPv6 addresses, too. Read once, at the start; without it whatever has to do with IPv6 is off. */
  readonly ipv6: boolean;
  /** Pods of such a run get, or may get after a change, no IPv4 address. Read once, at the start. */
  readonly ipv6Only: boolean;
  /** Per controller: its process does not run for a while. */
  readonly controllerPausesPerHour: number;
  /** The wall clock is set while a controller runs. */
  readonly controllerClockJumpsPerHour: number;
  /** The same per agent. */
  readonly agentClockJumpsPerHour: number;
  /** Per node: its virtual machine is halted for seconds to minutes, with or without its clocks, and goes on. */
  readonly haltsPerHour: number;
  /** Per controller: its connections to the API server hang for seconds to minutes. */
  readonly controllerHangsPerHour: number;
  /** The same per agent. */
  readonly agentHangsPerHour: number;
  /** Odds, per reboot, that the disk with the journal is a new one. */
  readonly journalLostOdds: number;
  /** What a sync of the journal takes, at most. */
  readonly diskMaxMs: number;
  /** Per node. */
  readonly collectionsPerHour: number;
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
  /** An address of one of our ENIs is unassigned. */
  readonly unassignmentsPerHour: number;
  /** The /80 of one of our ENIs is unassigned. */
  readonly ipv6UnassignmentsPerHour: number;
  /** One of our ENIs is pulled off by force, and in half of the cases deleted. */
  readonly eniRemovalsPerHour: number;
  /** An instance is terminated; another one joins the cluster in its place. */
  readonly terminationsPerHour: number;
  /** An instance is stopped, and started again a while later. */
  readonly stopsPerHour: number;
  /** A Node object is deleted; its kubelet makes it anew, without what people wrote on it. */
  readonly nodeDeletionsPerHour: number;
  /** A NodeNetwork object is deleted. */
  readonly nodeNetworkDeletionsPerHour: number;
}

/** What the users of the cluster do beside starting and ending pods: odds per deed. */
export interface WorkloadProfile {
  readonly annotationOdds: number;
  readonly labelOdds: number;
  /** The annotation changes many times within a second or two. */
  readonly flapOdds: number;
  readonly eniConfigToggleOdds: number;
  readonly eniConfigChangeOdds: number;
  readonly eniConfigRenameOdds: number;
  /** A class is made, changed, deleted; or what it goes by: tags of subnets, labels of nodes and ENIConfigs. */
  readonly classOdds: number;
  /** An ENIConfig says what cannot be, or a class or a node does; or it is put right. */
  readonly mistakeOdds: number;
  /** A node gets the label that leaves it alone, or loses it; its agent ends, or starts, after a while. */
  readonly optOutOdds: number;
  /** The controllers are started again with other address families. */
  readonly familiesOdds: number;
  /** Subnets lack their IPv6 block at the start, too. */
  readonly ipv6BlockOdds: number;
  readonly burstOdds: number;
  readonly massDeletionOdds: number;
  /** Of new pods: they choose their ENIConfig. */
  readonly choosingPodOdds: number;
  readonly namespaceChoiceOdds: number;
  /** Of deletions: the object goes at once, kubelet cleans up behind it. */
  readonly forcedDeletionOdds: number;
  /** Of deletions. */
  readonly recreationOdds: number;
  /** Of deletions. */
  readonly completionOdds: number;
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
  readonly workload: WorkloadProfile;
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
    controllerCrashInCallOdds: 0,
    leaderOverlapOdds: 0,
    controllerClockSkewMaxMs: 0,
    agentClockSkewMaxMs: 0,
    twoControllers: false,
    ipv6: false,
    ipv6Only: false,
    controllerPausesPerHour: 0,
    controllerClockJumpsPerHour: 0,
    agentClockJumpsPerHour: 0,
    haltsPerHour: 0,
    controllerHangsPerHour: 0,
    agentHangsPerHour: 0,
    journalLostOdds: 0,
    diskMaxMs: 1,
    collectionsPerHour: 0,
  },
  person: {
    subnetFillingsPerHour: 0,
    permissionLossesPerHour: 0,
    tokenSpreesPerHour: 0,
    foreignEnisPerHour: 0,
    unassignmentsPerHour: 0,
    ipv6UnassignmentsPerHour: 0,
    eniRemovalsPerHour: 0,
    terminationsPerHour: 0,
    stopsPerHour: 0,
    nodeDeletionsPerHour: 0,
    nodeNetworkDeletionsPerHour: 0,
  },
  workload: {
    annotationOdds: 0,
    labelOdds: 0,
    flapOdds: 0,
    eniConfigToggleOdds: 0,
    eniConfigChangeOdds: 0,
    eniConfigRenameOdds: 0,
    classOdds: 0,
    mistakeOdds: 0,
    optOutOdds: 0,
    choosingPodOdds: 0,
    namespaceChoiceOdds: 0,
    familiesOdds: 0,
    ipv6BlockOdds: 0,
    burstOdds: 0,
    massDeletionOdds: 0,
    forcedDeletionOdds: 0,
    recreationOdds: 0,
    completionOdds: 0,
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
