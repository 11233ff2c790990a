// The process of one controller in a seeded run: its clock, its connections, and what may befall it.

import type { Clock } from '../../../ports/clock.ts';
import type { ControllerCluster, Subscription } from '../../../ports/cluster.ts';
import type { Ec2 } from '../../../ports/ec2.ts';
import type { LeaseStore } from '../../../ports/leadership.ts';
import type { Log } from '../../../ports/log.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import type { SimEc2 } from '../../ec2/sim-ec2.ts';
import type { FaultDial } from '../../faults/fault-profile.ts';
import { startTicks, type TickOptions } from '../../faults/ticks.ts';
import { chance, drawBetween, drawClockErrorMs, type Range } from '../../kernel/draw.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { SeededRandom } from '../../kernel/seeded-random.ts';
import { createHang } from './sim-hang.ts';
import { mortalClient, overheard } from './sim-client.ts';
import type { SimFamilies } from './sim-families.ts';
import type { SimMode } from './sim-mode.ts';

/** Actors of EC2 changes whose name begins with this are controllers under test. */
export const CONTROLLER = 'controller';

export interface ControllerParts {
  readonly kernel: Kernel;
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  readonly dial: FaultDial;
  readonly log: Log;
  readonly mode: SimMode;
  readonly tell: (text: string) => void;
  /** Told of each fault, as `world.field`, when it strikes. */
  readonly struck: (fault: string) => void;
  readonly families: SimFamilies;
}

export interface SimProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly cluster: ControllerCluster;
  readonly ec2: Ec2;
  readonly lease: LeaseStore;
  /** Its connections to the API server hang for a while. */
  hang(): void;
  /** They go on. */
  goOn(): void;
  /** It hears nothing any more, and does nothing. */
  die(): void;
}

/** Writes, and the read on whose answer a write to EC2 follows at once. */
const CLUSTER_CALLS = [
  'get',
  'createNodeNetwork',
  'updateNodeNetworkSpec',
  'updateNodeNetworkStatus',
  'updateEniConfigStatus',
] as const;
const EC2_WRITES = [
  'createNetworkInterface',
  'attachNetworkInterface',
  'setDeleteOnTermination',
  'setSecurityGroups',
  'assignPrivateIpAddresses',
  'unassignPrivateIpAddresses',
  'assignPrefixes',
  'unassignPrefixes',
  'detachNetworkInterface',
  'deleteNetworkInterface',
] as const;
/** About as long as a call takes: way there, effect, way back. */
const EC2_CALL_MS = { min: 0, max: 500 };
const API_CALL_MS = { min: 0, max: 20 };

export interface Birth {
  /** Of all controllers' lives. */
  readonly number: number;
  readonly random: SeededRandom;
  /** A call that changes something was its last. */
  readonly crash: (process: SimProcess) => void;
}

/** A process that has just been started; its clock may be off. */
export function openProcess(parts: ControllerParts, { number, random, crash }: Birth): SimProcess {
  const { kernel, ec2, cluster, dial, tell, struck } = parts;
  const name = `${CONTROLLER}-${number}`;
  const { controllerClockSkewMaxMs: skewMs } = dial.profile().node;
  kernel.skew(name, drawBetween(random, { min: -skewMs, max: skewMs }));
  if (skewMs > 0) struck('node.controllerClockSkewMaxMs');
  const clock = kernel.clock(name);
  const connection = mortalClient(cluster.client({ clock }));
  /** A call that changes something begins: now, or before its answer, the process may die, or be stopped. */
  const fragile = (callMs: Range) => (): void => {
    const { controllerCrashInCallOdds, controllerPausesPerHour } = dial.profile().node;
    const inCall = (odds: number, label: string, run: () => void): void => {
      if (chance(random, odds)) kernel.clock('world').timer(drawBetween(random, callMs), label, run);
    };
    inCall(controllerCrashInCallOdds, 'crash in a call', () => {
      struck('node.controllerCrashInCallOdds');
      crash(self);
    });
    inCall(controllerPausesPerHour > 0 ? PAUSE_IN_CALL_ODDS : 0, 'pause in a call', () => {
      struck('node.controllerPausesPerHour');
      pauseProcess(parts, name, random);
    });
  };
  const life = random.fork(`life-${number}`);
  const hang = createHang({
    clock,
    world: kernel.clock('world'),
    random: life.fork('hangs'),
    timeoutMs: () => dial.cluster().timeoutMs,
    tell: (what) => tell(`the connection of ${name} to the API server ${what}`),
  });
  const self: SimProcess = {
    name,
    clock,
    random: life,
    cluster: overheard(hang.cluster(connection.client), CLUSTER_CALLS, fragile(API_CALL_MS)),
    ec2: overheard(ec2.client({ name, clock }), EC2_WRITES, fragile(EC2_CALL_MS)),
    lease: overheard(hang.calls(cluster.lease.store(clock)), ['write'], fragile(API_CALL_MS)),
    hang: hang.begin,
    goOn: hang.end,
    die: () => {
      tell(`${name} dies`);
      connection.end();
      kernel.kill(name);
    },
  };
  tell(`${name} starts`);
  return self;
}

/** Once closed, nothing more befalls them. */
export interface ProcessFaults extends Subscription {
  /** Each process that lives ends, and another one starts after it. */
  restartAll(): void;
}

export interface Befalling {
  readonly random: SeededRandom;
  /** Those that live. */
  readonly processes: () => readonly SimProcess[];
  readonly crash: (process: SimProcess) => void;
}

/** Pauses by the clock alone would hardly ever begin while a call is under way. */
const PAUSE_IN_CALL_ODDS = 0.04;
/** From a collector's pause to a host that is starved, or a lease's length and more. */
const PAUSE_MS = { min: 2_000, max: 90_000 };

function pauseProcess({ kernel, tell }: ControllerParts, name: string, random: SeededRandom): void {
  const ms = drawBetween(random, PAUSE_MS);
  kernel.pause(name);
  tell(`${name} is stopped for ${ms} ms`);
  kernel.clock('world').timer(ms, 'controller goes on', () => kernel.resume(name));
}

/** Until closed, by the odds of the profile, processes crash or stop for a while, and their clocks are set. */
export function startProcessFaults(
  parts: ControllerParts,
  { random, processes, crash }: Befalling,
): ProcessFaults {
  const { kernel, dial, tell, struck } = parts;
  const clockDraws = random.fork('clock is set');
  const setClock = ({ name }: SimProcess): void => {
    const errorMs = drawClockErrorMs(clockDraws);
    kernel.skew(name, errorMs);
    tell(`the clock of ${name} is set, and ${errorMs} ms off now`);
  };
  const onTick: TickOptions['onTick'] = (odds) => {
    const { node } = dial.profile();
    for (const process of processes()) {
      const deeds: readonly (readonly [field: keyof typeof node, run: (process: SimProcess) => void])[] = [
        ['controllerClockJumpsPerHour', setClock],
        ['controllerHangsPerHour', ({ hang }) => hang()],
        ['controllerPausesPerHour', ({ name }) => pauseProcess(parts, name, random)],
        ['controllerCrashesPerHour', crash],
      ];
      for (const [field, run] of deeds) {
        if (!chance(random, odds(Number(node[field])))) continue;
        struck(`node.${field}`);
        run(process);
      }
    }
  };
  const ticks = startTicks({ clock: kernel.clock('world'), random, label: 'controller tick', onTick });
  return {
    close: () => {
      ticks.close();
      for (const { goOn } of processes()) goOn();
    },
    restartAll: () => {
      for (const process of processes()) crash(process);
    },
  };
}
