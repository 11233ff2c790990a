// Kubernetes label selectors over a set of labels.

type Labels = Readonly<Record<string, string>>;

export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  /** Of `In` and `NotIn`; empty for the others. */
  readonly values: readonly string[];
}

/** Everything in it must hold; an empty one matches every set of labels. */
export interface LabelSelector {
  readonly matchLabels: Labels;
  readonly matchExpressions: readonly LabelRequirement[];
}

export const anyLabels: LabelSelector = { matchLabels: {}, matchExpressions: [] };

/**
 * Whether the labels meet every requirement. As in Kubernetes, `NotIn` holds where the key is absent.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
 */
export function matchesLabels({ matchLabels, matchExpressions }: LabelSelector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => valueOf(labels, key) === value) &&
    matchExpressions.every((requirement) => meets(requirement, valueOf(labels, requirement.key)))
  );
}

// A key may be called like a member of every object.
const valueOf = (labels: Labels, key: string): string | undefined =>
  Object.hasOwn(labels, key) ? labels[key] : undefined;

function meets({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
