// The steps of a scenario's timeline: each does one thing, or expects one thing.

import { z } from 'zod';
import { type Check, type CheckKind, checkShape } from './check-schema.ts';
import {
  closed,
  count,
  destination,
  durationMs,
  endpoint,
  family,
  localName,
  nodeName,
  pod,
  podPattern,
  words,
} from './schema-words.ts';
import { classManifest, ec2Faults, eniConfigManifest, settings, textMap } from './world-schema.ts';
import { podKey, type PodKey } from '../../domain/ids.ts';

/** Pods that one step may make. */
const POD_COUNT_MAX = 500;

interface PodCreation {
  readonly node: string;
  readonly pods: readonly PodKey[];
  readonly annotations: Readonly<Record<string, string>>;
}

const createPods = closed({
  node: nodeName,
  pods: z.array(pod).optional(),
  /** PREFIX-1 ... PREFIX-COUNT in namespace default. */
  prefix: localName.optional(),
  count: count.max(POD_COUNT_MAX, `a step makes at most ${POD_COUNT_MAX} pods`).optional(),
  annotations: textMap.default({}),
})
  .refine((value) => (value.pods === undefined) !== (value.prefix === undefined), {
    error: 'give either pods (a list of names), or prefix and count',
  })
  .refine((value) => (value.prefix === undefined) === (value.count === undefined), {
    error: 'prefix and count belong together',
  })
  .transform(
    (value): PodCreation => ({
      node: value.node,
      annotations: value.annotations,
      pods:
        value.pods ??
        Array.from({ length: value.count ?? 0 }, (_, n) => podKey('default', `${value.prefix}-${n + 1}`)),
    }),
  );

const podList = z.array(podPattern).min(1, 'name at least one pod');

const changeShape = { set: textMap.default({}), remove: z.array(words).default([]) };
const changesNothing = { error: 'give set or remove' };
const isChange = (value: { readonly set: object; readonly remove: readonly string[] }): boolean =>
  Object.keys(value.set).length + value.remove.length > 0;
const nodeChange = closed({ node: nodeName, ...changeShape }).refine(isChange, changesNothing);
const namespaceChange = closed({ namespace: localName, ...changeShape }).refine(isChange, changesNothing);
const podChange = closed({ pods: podList, ...changeShape }).refine(isChange, changesNothing);

export const actionShape = {
  section: words,
  wait: durationMs,
  launchNode: nodeName,
  createPods,
  deletePods: podList,
  annotateNode: nodeChange,
  labelNode: nodeChange,
  annotatePods: podChange,
  /** Makes the namespace if it is not there. */
  annotateNamespace: namespaceChange,
  applyEniConfig: eniConfigManifest,
  deleteEniConfig: words,
  applyNodeNetworkClass: classManifest,
  deleteNodeNetworkClass: words,
  /** The scenario's settings with these on top. */
  restartController: closed({ settings: settings.default({}) }),
  restartAgent: nodeName,
  /** Someone else takes addresses of the subnet until so many are free. */
  occupyAddresses: closed({ subnet: words, leaveFree: count }),
  /** Someone else takes one address of each whole free /28 block: then no prefix is to be had. */
  fragmentSubnet: closed({ subnet: words }),
  /** They give them all back. */
  defragmentSubnet: closed({ subnet: words }),
  /** The subnet has exactly these tags from now on. */
  tagSubnet: closed({ subnet: words, tags: textMap }),
  /** Someone else gives back so many of those. */
  freeAddresses: closed({ subnet: words, count }),
  /** A TCP connection that stays open; `alive` checks it later. */
  openConnection: closed({ name: localName, from: endpoint, to: destination, family: family.optional() }),
  /** Troubles that EC2's calls meet from now on, in place of those before; `[]` ends them. */
  ec2Faults,
};

export type ActionVerb = keyof typeof actionShape;
export type ActionOf<V extends ActionVerb> = z.output<(typeof actionShape)[V]>;
export type Action = {
  readonly [V in ActionVerb]: { readonly verb: V; readonly request: ActionOf<V> };
}[ActionVerb];

export interface Expectation {
  /** The sentence of the report's line. */
  readonly title: string;
  readonly check: Check;
  /** How long it may take to become true, milliseconds. */
  readonly withinMs: number;
  /** How long it must then stay true, milliseconds. */
  readonly holdsForMs: number;
}

export type Step =
  | { readonly kind: 'Action'; readonly action: Action }
  | { readonly kind: 'Expectation'; readonly expectation: Expectation };

/** An expectation may become true within this time unless the step says otherwise, milliseconds. */
export const DEFAULT_WITHIN_MS = 15_000;

type Optional<S extends Readonly<Record<string, z.ZodType>>> = {
  readonly [K in keyof S]: z.ZodOptional<S[K]>;
};

const optional = <S extends Readonly<Record<string, z.ZodType>>>(shape: S): Optional<S> =>
  Object.fromEntries(Object.entries(shape).map(([key, schema]) => [key, schema.optional()])) as Optional<S>;

const flatStep = closed({
  expect: words.optional(),
  within: durationMs.optional(),
  holdsFor: durationMs.optional(),
  ...optional(checkShape),
  ...optional(actionShape),
});

const verbs = Object.keys(actionShape) as readonly ActionVerb[];
const checkKinds = Object.keys(checkShape) as readonly CheckKind[];

/** Turns the flat form that people write into exactly one action or one expectation. */
export const step: z.ZodType<Step> = flatStep.transform((value, context): Step => {
  const complain = (message: string): never => {
    context.issues.push({ code: 'custom', message, input: value });
    return z.NEVER;
  };
  const verbsUsed = verbs.filter((verb) => value[verb] !== undefined);
  const kindsUsed = checkKinds.filter((kind) => value[kind] !== undefined);
  const { expect } = value;
  if (expect === undefined) {
    const [verb, second] = verbsUsed;
    if (kindsUsed[0] !== undefined)
      return complain(`"${kindsUsed[0]}" is a check; add expect: with the sentence for the report`);
    if (value.within !== undefined || value.holdsFor !== undefined)
      return complain('within and holdsFor belong to a step with expect:');
    if (verb === undefined) return complain(`a step needs expect:, or one of ${verbs.join(', ')}`);
    if (second !== undefined)
      return complain(`a step does one thing, but has ${verbsUsed.join(' and ')}; make them two steps`);
    return { kind: 'Action', action: { verb, request: value[verb] } as Action };
  }
  const [kind, second] = kindsUsed;
  if (verbsUsed[0] !== undefined)
    return complain(`a step with expect: does nothing, but has ${verbsUsed[0]}; make them two steps`);
  if (kind === undefined) return complain(`expect: needs one of ${checkKinds.join(', ')}`);
  if (second !== undefined)
    return complain(`expect: checks one thing, but has ${kindsUsed.join(' and ')}; make them two steps`);
  return {
    kind: 'Expectation',
    expectation: {
      title: expect,
      check: { kind, want: value[kind] } as Check,
      withinMs: value.within ?? DEFAULT_WITHIN_MS,
      holdsForMs: value.holdsFor ?? 0,
    },
  };
});
