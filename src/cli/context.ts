// What the commands need of the machine; bin/eniwhere.ts fills it in.

import type { Result } from '../domain/result.ts';
import type { Fault } from '../lab/scenario/fault.ts';
import type { OpenLab } from '../lab/scenario/open-lab.ts';
import type { Scenario } from '../lab/scenario/scenario.ts';
import type { AccountReader } from '../ports/account.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClusterReader } from '../ports/cluster.ts';
import type { Ec2Reader } from '../ports/ec2.ts';
import type { PermissionChecker } from '../ports/permissions.ts';
import type { RunPlan, SimulationResult } from '../lab/scenario/simulation/simulate.ts';
import type { AgentCommands } from './agent-node.ts';

/** Where packets shall move: `auto` takes network namespaces where it can, and memory otherwise. */
export const NETWORKS = ['auto', 'namespaces', 'memory'] as const;
export type NetworkWish = (typeof NETWORKS)[number];

/** Where the simulated EC2 runs: `http` is a process of its own, which the controller reaches through the real SDK. */
export const EC2_PLACES = ['inside', 'http'] as const;
export type Ec2Place = (typeof EC2_PLACES)[number];

export interface LabRequest {
  readonly scenario: Scenario;
  readonly network: NetworkWish;
  readonly ec2: Ec2Place;
  /** Log lines of controller and agents go to stderr. */
  readonly verbose: boolean;
}

export type LabAnswer =
  | { readonly kind: 'Open'; readonly open: OpenLab; readonly handBook?: LabHandBook }
  /** The whole command ran in a child that has the rights which this process lacks. */
  | { readonly kind: 'RanInChild'; readonly exitCode: number }
  /** `message` says why not, and what to do. */
  | { readonly kind: 'Impossible'; readonly message: string };

export interface Ec2ServerRequest {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Whose VPC and instances it begins with; empty when absent. */
  readonly scenario?: Scenario;
  readonly faults: readonly Fault[];
}

export type Ec2ServerAnswer =
  | {
      readonly kind: 'Serving';
      readonly url: string;
      /** Node of the scenario -> its instance's id. */
      readonly instances: ReadonlyMap<string, string>;
      close(): Promise<void>;
    }
  /** `message` says why not. */
  | { readonly kind: 'Impossible'; readonly message: string };

/** How a person gets into a running lab by hand. */
export interface LabHandBook {
  /** Command that opens a shell from which the others work; absent when any root shell does. */
  readonly enterFirst?: string;
  /** Command prefix that runs something inside the network namespace at a path. */
  readonly inNamespace: (netnsPath: string) => string;
  readonly agentSocketOf: (node: string) => string;
  readonly pluginPath: string;
}

/** Where seeded runs are run. */
export interface SimulationMachine {
  /** Milliseconds from any moment on, for durations. */
  readonly nowMs: () => number;
  readonly coreCount: number;
  readonly runOne: (plan: RunPlan, onLog?: (line: string) => void) => Promise<SimulationResult>;
  /** Side by side, in threads; results come in any order. */
  readonly runMany: (
    plans: readonly RunPlan[],
    options: { readonly workerCount: number; readonly onResult: (result: SimulationResult) => void },
  ) => Promise<void>;
}

export interface AwsAccess {
  readonly ec2: Ec2Reader;
  readonly account: AccountReader;
  readonly permissions: PermissionChecker;
  readonly region: string;
}

export interface ClusterRequest {
  /** Path of a kubeconfig; as kubectl finds it when absent. */
  readonly kubeconfig?: string;
  /** The kubeconfig's current one when absent. */
  readonly context?: string;
}

export interface ClusterAccess {
  readonly cluster: ClusterReader;
  /** Why the cluster could not be followed, when that was last noticed. */
  readonly trouble: () => string | undefined;
  readonly close: () => void;
}

export interface CliContext {
  readonly version: string;
  /** As a person types it: `eniwhere`, or `kubectl eniwhere`. */
  readonly programName: string;
  readonly write: (text: string) => void;
  /** To stderr: what went wrong, notes and progress. */
  readonly complain: (text: string) => void;
  /** Whether `write` goes to a terminal that shows colours (and NO_COLOR is not set). */
  readonly colour: boolean;
  /** The text, or why it cannot be read. */
  readonly readFile: (path: string) => Promise<Result<string, string>>;
  /** Replaces the file, or says why it cannot be written. */
  readonly writeFile: (path: string, text: string) => Promise<Result<void, string>>;
  readonly openLab: (request: LabRequest) => Promise<LabAnswer>;
  /** EC2 to read from, or why it cannot be asked: no Region, no credentials. */
  readonly openEc2: (region: string | undefined) => Promise<Result<AwsAccess, string>>;
  /** The cluster to read from, or what is wrong with the kubeconfig. */
  readonly openCluster: (request: ClusterRequest) => Promise<Result<ClusterAccess, string>>;
  /** Loaded when it is needed: it brings the Linux adapter and its Workers. */
  readonly agent: () => Promise<AgentCommands>;
  readonly clock: Clock;
  readonly serveEc2: (request: Ec2ServerRequest) => Promise<Ec2ServerAnswer>;
  readonly simulation: SimulationMachine;
  /** Resolves when the person wants the command to end (SIGINT, SIGTERM). */
  readonly whenInterrupted: Promise<void>;
}

export const EXIT = {
  ok: 0,
  /** An expectation was broken. */
  broken: 1,
  /** The command line or the scenario file is wrong, or the lab cannot be made here. */
  usage: 2,
  interrupted: 130,
} as const;
