// The controllers of a seeded run: one after the other, each of which may die at any moment; or two that contend for a lease.

import { type ControllerSettings, parseControllerSettings } from '../../../controller/controller-settings.ts';
import { fencedEc2 } from '../../../controller/fenced-ec2.ts';
import { startController } from '../../../controller/start-controller.ts';
import { assert } from '../../../domain/result.ts';
import type { Term } from '../../../ports/leadership.ts';
import { chance, drawBetween } from '../../kernel/draw.ts';
import type { Families } from './sim-families.ts';
import { settingsOf, type SimMode } from './sim-mode.ts';
import {
  type ControllerParts,
  openProcess,
  type ProcessFaults,
  type SimProcess,
  startProcessFaults,
} from './sim-process.ts';

export const COOLDOWN_SECONDS = 10;

/** A controller that has died is started again after so long. */
export const RESTART_MS = { min: 100, max: 10_000 };
/** How long a process may go on whose lease is over, and how soon another one leads. */
const LINGER_MS = { min: 100, max: 2_000 };
const TAKEOVER_MS = { min: 0, max: 300 };

/** Starts the controller itself in a process, as far as the term lets it act. */
export function startInProcess(
  { cluster, ec2, clock, random }: SimProcess,
  { log, mode, families }: ControllerParts,
  term: Term,
): ReturnType<typeof startController> {
  return startController({
    cluster,
    ec2: fencedEc2(ec2, term),
    clock,
    random,
    log,
    settings: simSettings(mode, families.cluster()),
  });
}

/**
 * Starts the first controller. The next one knows nothing but what Kubernetes and EC2 say. Who leads is decided here, so that
 * another one leads much sooner than a lease would let it.
 */
export function startControllers(parts: ControllerParts): ProcessFaults {
  const { kernel, dial, tell, struck } = parts;
  const random = kernel.random.fork('controllers');
  const world = kernel.clock('world');
  let lifeCount = 0;
  let current: SimProcess | undefined;

  const crash = (process: SimProcess): void => {
    if (process !== current) return;
    current = undefined;
    const lingers = chance(random, dial.profile().node.leaderOverlapOdds);
    if (!lingers) process.die();
    else {
      struck('node.leaderOverlapOdds');
      tell(`${process.name} has lost its lease, and does not know`);
      world.timer(drawBetween(random, LINGER_MS), 'late death', process.die);
    }
    world.timer(drawBetween(random, lingers ? TAKEOVER_MS : RESTART_MS), 'controller restart', start);
  };
  function start(): void {
    lifeCount += 1;
    // Nobody leads while a request of an earlier leader may still arrive: the lease outlives it, for which there is no time here.
    parts.ec2.landLateRequests();
    const process = openProcess(parts, { number: lifeCount, random, crash });
    current = process;
    startInProcess(process, parts, { isHeld: () => process === current, leftOpen: () => undefined });
  }
  start();
  const processes = (): readonly SimProcess[] => (current === undefined ? [] : [current]);
  return startProcessFaults(parts, { random, processes, crash });
}

function simSettings(mode: SimMode, families: Families): ControllerSettings {
  const parsed = parseControllerSettings({
    CLUSTER_NAME: 'sim',
    AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'true',
    ...settingsOf(mode),
    ENABLE_IPv4: String(families.includes('IPv4')),
    ENABLE_IPv6: String(families.includes('IPv6')),
    IP_COOLDOWN_PERIOD: String(COOLDOWN_SECONDS),
  });
  assert(parsed.ok, 'the settings of the simulation are valid');
  return parsed.value;
}
