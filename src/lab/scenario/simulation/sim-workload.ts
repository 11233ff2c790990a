// What the users of the cluster do in a seeded run: pods come and go, annotations, labels and ENIConfigs change.

import type { WorkloadProfile } from '../../faults/fault-profile.ts';
import { chance, drawBetween } from '../../kernel/draw.ts';
import { classDeeds } from './sim-class-deeds.ts';
import { configDeeds } from './sim-config-deeds.ts';
import { type FamilyDeps, familyDeeds } from './sim-family-deeds.ts';
import { podDeeds, type WorkloadDeps } from './sim-pod-deeds.ts';

export interface Workload {
  /** Nothing more is changed; wrong annotations and missing ENIConfigs stay as they are. */
  freeze(): void;
}

const PAUSE_MS = { min: 200, max: 8_000 };
const END_PODS_ODDS = 0.45;

type Deed = readonly [fault: keyof WorkloadProfile | undefined, odds: number, run: () => void];

/** Draws deeds until frozen. */
export function startWorkload(deps: WorkloadDeps & FamilyDeps): Workload {
  const { clock, random } = deps;
  let frozen = false;
  const pods = podDeeds(deps);
  const configs = configDeeds(deps);
  const classes = classDeeds({ ...deps, random: random.fork('classes') });
  const families = familyDeeds(deps, random.fork('families'));
  const act = (): void => {
    if (frozen) return;
    const odds = deps.profile();
    const deeds: readonly Deed[] = [
      ['annotationOdds', odds.annotationOdds, configs.annotate],
      ['labelOdds', odds.labelOdds, configs.label],
      ['flapOdds', odds.flapOdds, configs.flap],
      ['eniConfigToggleOdds', odds.eniConfigToggleOdds, configs.toggle],
      ['eniConfigChangeOdds', odds.eniConfigChangeOdds, configs.change],
      ['eniConfigRenameOdds', odds.eniConfigRenameOdds, configs.rename],
      ['classOdds', odds.classOdds, classes.act],
      ['mistakeOdds', odds.mistakeOdds, configs.mistake],
      ['optOutOdds', odds.optOutOdds, configs.optOut],
      ['familiesOdds', odds.familiesOdds, families.changeCluster],
      ['ipv6BlockOdds', odds.ipv6BlockOdds, families.changeBlock],
      ['namespaceChoiceOdds', odds.namespaceChoiceOdds, pods.annotateNamespace],
      ['massDeletionOdds', odds.massDeletionOdds, pods.endAll],
      [undefined, END_PODS_ODDS, pods.endOne],
      [undefined, 1, pods.start],
    ];
    const [fault, , run] = deeds.find(([, each]) => chance(random, each)) ?? [];
    if (fault !== undefined) deps.struck(fault);
    run?.();
    clock.timer(drawBetween(random, PAUSE_MS), 'deed', act);
  };
  clock.timer(drawBetween(random, PAUSE_MS), 'deed', act);
  return {
    freeze: () => {
      frozen = true;
    },
  };
}
