// The controller of a seeded run, and the crashes of controller and agents.

import { type ControllerSettings, parseControllerSettings } from '../../../controller/controller-settings.ts';
import { type Controller, startController } from '../../../controller/start-controller.ts';
import { assert } from '../../../domain/result.ts';
import type { Log } from '../../../ports/log.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import type { SimEc2 } from '../../ec2/sim-ec2.ts';
import type { FaultDial } from '../../faults/fault-profile.ts';
import { chance, drawBetween } from '../../kernel/draw.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { SimNode } from './sim-node.ts';

/** Actors of EC2 changes whose name begins with this are controllers under test. */
export const CONTROLLER = 'controller';
export const COOLDOWN_SECONDS = 10;

interface ControllerParts {
  readonly kernel: Kernel;
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  readonly log: Log;
}

/** A controller that can be killed at any moment; the next one knows nothing but what Kubernetes and EC2 say. */
export function startControllers({ kernel, ec2, cluster, log }: ControllerParts): { crash(): void } {
  const random = kernel.random.fork('controllers');
  let lives = 0;
  let current: Controller | undefined;
  const start = (): void => {
    lives += 1;
    const clock = kernel.clock(CONTROLLER);
    current = startController({
      cluster: cluster.client({ clock }),
      ec2: ec2.client({ name: `${CONTROLLER}-${lives}`, clock }),
      clock,
      random: random.fork(`life-${lives}`),
      log,
      settings: simSettings(),
    });
  };
  start();
  return {
    crash: () => {
      if (current === undefined) return;
      current = undefined;
      kernel.kill(CONTROLLER);
      kernel
        .clock('world')
        .timer(drawBetween(random, { min: 100, max: 10_000 }), 'controller restart', start);
    },
  };
}

function simSettings(): ControllerSettings {
  const parsed = parseControllerSettings({
    CLUSTER_NAME: 'sim',
    AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'true',
    WARM_IP_TARGET: '1',
    IP_COOLDOWN_PERIOD: String(COOLDOWN_SECONDS),
  });
  assert(parsed.ok, 'the settings of the simulation are valid');
  return parsed.value;
}

interface CrashDeps {
  readonly kernel: Kernel;
  readonly dial: FaultDial;
  readonly nodes: readonly SimNode[];
  readonly controller: { crash(): void };
}

const CRASH_TICK_MS = 1_000;

/** Each second, by the profile's odds, a controller or an agent dies between any two of its steps. */
export function startCrashes({ kernel, dial, nodes, controller }: CrashDeps): void {
  const random = kernel.random.fork('crashes');
  const clock = kernel.clock('world');
  const perTick = (perHour: number): number => (perHour * CRASH_TICK_MS) / 3_600_000;
  const tick = (): void => {
    const { controllerCrashesPerHour, agentCrashesPerHour } = dial.profile().node;
    if (chance(random, perTick(controllerCrashesPerHour))) controller.crash();
    for (const node of nodes) if (chance(random, perTick(agentCrashesPerHour))) node.crashAgent();
    // Not on the full second, so that crashes fall between steps of any length.
    clock.timer(CRASH_TICK_MS + drawBetween(random, { min: -400, max: 400 }), 'crash tick', tick);
  };
  clock.timer(CRASH_TICK_MS, 'crash tick', tick);
}
