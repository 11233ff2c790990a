// The controllers of a seeded run: one after the other, each of which may die at any moment.

import { type ControllerSettings, parseControllerSettings } from '../../../controller/controller-settings.ts';
import { fencedEc2 } from '../../../controller/fenced-ec2.ts';
import { startController } from '../../../controller/start-controller.ts';
import { assert } from '../../../domain/result.ts';
import type { Subscription } from '../../../ports/cluster.ts';
import type { Log } from '../../../ports/log.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import type { SimEc2 } from '../../ec2/sim-ec2.ts';
import type { FaultDial } from '../../faults/fault-profile.ts';
import { startTicks, type TickOptions } from '../../faults/ticks.ts';
import { chance, drawBetween, drawClockErrorMs } from '../../kernel/draw.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type MortalClient, mortalClient, overheard } from './sim-client.ts';

/** Actors of EC2 changes whose name begins with this are controllers under test. */
export const CONTROLLER = 'controller';
export const COOLDOWN_SECONDS = 10;
export const WARM_IP_TARGET = 1;

export interface ControllerParts {
  readonly kernel: Kernel;
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  readonly dial: FaultDial;
  readonly log: Log;
  readonly tell: (text: string) => void;
  /** Told of each fault, as `world.field`, when it strikes. */
  readonly struck: (fault: string) => void;
}

const RESTART_MS = { min: 100, max: 10_000 };
/** About as long as a call takes: way there, effect, way back. */
const CALL_MS = { min: 0, max: 500 };
/** How long a process may go on whose lease is over, and how soon another one leads. */
const LINGER_MS = { min: 100, max: 2_000 };
const TAKEOVER_MS = { min: 0, max: 300 };
const CLUSTER_WRITES = [
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
  'detachNetworkInterface',
  'deleteNetworkInterface',
] as const;

interface Life {
  readonly name: string;
  readonly connection: MortalClient;
  /** Its lease: from then on none of its calls may reach EC2. */
  isOver: boolean;
}

/**
 * Starts the first controller. The next one knows nothing but what Kubernetes and EC2 say. Once closed, none crashes any
 * more, except those that are on their way to it.
 */
export function startControllers(parts: ControllerParts): Subscription {
  const { kernel, ec2, cluster, dial, log, tell, struck } = parts;
  const random = kernel.random.fork('controllers');
  const clockDraws = random.fork('clock is set');
  const world = kernel.clock('world');
  const settings = simSettings();
  let lifeCount = 0;
  let current: Life | undefined;

  const die = ({ name, connection }: Life): void => {
    tell(`${name} dies`);
    connection.end();
    kernel.kill(name);
  };
  const crash = (life: Life): void => {
    if (life !== current) return;
    current = undefined;
    life.isOver = true;
    const lingers = chance(random, dial.profile().node.leaderOverlapOdds);
    if (!lingers) die(life);
    else {
      struck('node.leaderOverlapOdds');
      tell(`${life.name} has lost its lease, and does not know`);
      world.timer(drawBetween(random, LINGER_MS), 'late death', () => die(life));
    }
    world.timer(drawBetween(random, lingers ? TAKEOVER_MS : RESTART_MS), 'controller restart', start);
  };
  /** A call that changes something begins: now, or before its answer, the process may die. */
  const fragile = (life: Life) => (): void => {
    if (!chance(random, dial.profile().node.controllerCrashInCallOdds)) return;
    world.timer(drawBetween(random, CALL_MS), 'crash in a call', () => {
      struck('node.controllerCrashInCallOdds');
      crash(life);
    });
  };
  function start(): void {
    lifeCount += 1;
    const name = `${CONTROLLER}-${lifeCount}`;
    const { controllerClockSkewMaxMs: skewMs } = dial.profile().node;
    kernel.skew(name, drawBetween(random, { min: -skewMs, max: skewMs }));
    if (skewMs > 0) struck('node.controllerClockSkewMaxMs');
    const clock = kernel.clock(name);
    const life: Life = { name, connection: mortalClient(cluster.client({ clock })), isOver: false };
    current = life;
    startController({
      cluster: overheard(life.connection.client, CLUSTER_WRITES, fragile(life)),
      ec2: fencedEc2(overheard(ec2.client({ name, clock }), EC2_WRITES, fragile(life)), {
        isHeld: () => !life.isOver,
      }),
      clock,
      random: random.fork(`life-${lifeCount}`),
      log,
      settings,
    });
    tell(`${name} starts`);
  }
  const setClock = (): void => {
    if (current === undefined) return;
    struck('node.controllerClockJumpsPerHour');
    const errorMs = drawClockErrorMs(clockDraws);
    kernel.skew(current.name, errorMs);
    tell(`the clock of ${current.name} is set, and ${errorMs} ms off now`);
  };
  const onTick: TickOptions['onTick'] = (odds) => {
    if (chance(random, odds(dial.profile().node.controllerClockJumpsPerHour))) setClock();
    if (!chance(random, odds(dial.profile().node.controllerCrashesPerHour))) return;
    struck('node.controllerCrashesPerHour');
    if (current !== undefined) crash(current);
  };
  start();
  return startTicks({ clock: world, random, label: 'controller tick', onTick });
}

function simSettings(): ControllerSettings {
  const parsed = parseControllerSettings({
    CLUSTER_NAME: 'sim',
    AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'true',
    WARM_IP_TARGET: String(WARM_IP_TARGET),
    IP_COOLDOWN_PERIOD: String(COOLDOWN_SECONDS),
  });
  assert(parsed.ok, 'the settings of the simulation are valid');
  return parsed.value;
}
