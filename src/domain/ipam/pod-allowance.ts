// Which ENIs a pod may get an address of: those of the ENIConfig that it chose, or those for everybody.

import { quote } from '../address/quote.ts';
import { wishOf } from '../eniconfig/pod-choice.ts';
import type { PodKey } from '../ids.ts';
import type { Choosing, SpecEni } from './node-network.ts';

/** A pod as the node knows it when it wants its address. */
export interface PodAtAdd {
  readonly key: PodKey;
  readonly namespace: string;
  /** Empty where the runtime does not say it. */
  readonly uid: string;
  /** Of the pod with this uid; absent: neither the runtime nor the API server has told. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** `Wait` passes by itself, `Refused` when a person does something. `because` is for people. */
export type Allowance =
  | { readonly kind: 'Everybody' }
  | { readonly kind: 'Chosen'; readonly eniConfig: string }
  | { readonly kind: 'Wait'; readonly because: string }
  | { readonly kind: 'Refused'; readonly because: string };

/**
 * Fails closed: a pod that chooses, or of which it is not known whether it does, gets nothing before the controller has
 * decided for that very pod (by uid: one made anew under an old name is another). Pure.
 */
export function allowanceOf(choosing: Choosing | undefined, pod: PodAtAdd): Allowance {
  const wish = pod.annotations === undefined ? undefined : wishOf(pod.annotations);
  const states = wish !== undefined && wish.kind !== 'Nothing';
  if (choosing === undefined) {
    return states
      ? {
          kind: 'Refused',
          because: 'it asks for an ENIConfig, and pods may not (ENIWHERE_POD_ENI_CONFIG is false)',
        }
      : { kind: 'Everybody' };
  }
  const decision = pod.uid === '' ? undefined : choosing.pods.find((one) => one.uid === pod.uid);
  if (decision?.kind === 'Refused') return { kind: 'Refused', because: decision.message };
  if (decision !== undefined) {
    const isStale = wish?.kind === 'Mistake' || (wish?.kind === 'Name' && wish.name !== decision.eniConfig);
    return isStale
      ? wait(
          `its annotation and the controller's decision (${quote(decision.eniConfig)}) differ; a new one is on its way`,
        )
      : { kind: 'Chosen', eniConfig: decision.eniConfig };
  }
  if (wish === undefined)
    return wait(
      'whether it asks for an ENIConfig of its own is not known: the API server has not told of it yet',
    );
  if (states || choosing.namespaces.includes(pod.namespace))
    return wait('it asks for an ENIConfig of its own, and the controller has not decided yet');
  return { kind: 'Everybody' };
}

const wait = (because: string): Allowance => ({ kind: 'Wait', because });

/** The ENIs that the allowance opens. */
export function enisFor(enis: readonly SpecEni[], allowance: Allowance): readonly SpecEni[] {
  switch (allowance.kind) {
    case 'Everybody':
      return enis.filter((eni) => eni.chosenOnly !== true);
    case 'Chosen':
      return enis.filter((eni) => !eni.primary && eni.eniConfig === allowance.eniConfig);
    case 'Wait':
    case 'Refused':
      return [];
  }
}
