// What EC2 has said of the subnets that classes name by their tags.

import type { TaggedSubnets } from '../domain/eniconfig/own-eni-configs.ts';
import type { SubnetId, VpcId } from '../domain/ids.ts';
import type { NodeNetworkClassRecord } from '../ports/cluster.ts';
import type { SubnetFilter } from '../ports/ec2.ts';
import type { SubnetFacts } from '../domain/eniconfig/eni-config.ts';
import type { ClusterView } from './cluster-view.ts';
import type { Ec2View, TagBelief } from './ec2-view.ts';

type Tags = Readonly<Record<string, string>>;

/** A subnet that answers have not shown for so long has lost its tag, and is not merely missing from an old answer. */
const LOST_AFTER_MS = 90_000;

/** The classes whose subnets have to be found, with their tags. */
const taggedClasses = ({ classes }: ClusterView): readonly { name: string; tags: Tags }[] =>
  [...classes.values()].flatMap(({ name, spec }) =>
    spec.kind === 'Parsed' && spec.nodeNetworkClass.candidates?.kind === 'SubnetTags'
      ? [{ name, tags: spec.nodeNetworkClass.candidates.tags }]
      : [],
  );

/** Whether nothing has been answered for the class's tags yet. */
const isUnasked = (
  beliefs: ReadonlyMap<string, TagBelief>,
  { name, tags }: { name: string; tags: Tags },
): boolean => beliefs.get(name)?.question !== questionOf(tags);

const questionOf = (tags: Tags): string =>
  Object.entries(tags)
    .map(([key, value]) => JSON.stringify([key, value]))
    .sort()
    .join();

interface FindDeps {
  readonly cluster: ClusterView;
  readonly view: Ec2View;
  readonly now: () => number;
  /** Makes the call, with its budget and its log; undefined: it failed. */
  readonly find: (filter: SubnetFilter) => Promise<readonly SubnetFacts[] | undefined>;
}

/** Asks EC2 for the subnets of classes: of all, or only of those never asked for. `Partly`: some of it failed. */
export async function readTaggedSubnets(
  { cluster, view, now, find }: FindDeps,
  which: 'all' | 'missing',
): Promise<'All' | 'Partly' | 'Nothing'> {
  const vpcIds = vpcsOfNodes(view);
  const asking = taggedClasses(cluster);
  forgetAllBut(view, asking);
  const classes = asking.filter((one) => which === 'all' || isUnasked(view.tagged, one));
  if (vpcIds.length === 0 || classes.length === 0) return 'Nothing';
  let wholly = true;
  for (const one of classes) {
    const found = await find({ vpcIds, tags: one.tags });
    if (found === undefined) wholly = false;
    else recordFound(view, one, found, now());
  }
  return wholly ? 'All' : 'Partly';
}

/** A class that asks again later must not be answered from before: its tags may long be elsewhere. */
function forgetAllBut({ tagged }: Ec2View, asking: readonly { readonly name: string }[]): void {
  const names = new Set(asking.map(({ name }) => name));
  for (const name of tagged.keys()) if (!names.has(name)) tagged.delete(name);
}

function recordFound(
  view: Ec2View,
  { name, tags }: { name: string; tags: Tags },
  found: readonly SubnetFacts[],
  now: number,
): void {
  const question = questionOf(tags);
  const before = view.tagged.get(name);
  const same = before?.question === question ? before : undefined;
  view.tagged.set(name, {
    question,
    firstReadAt: same?.firstReadAt ?? now,
    readAt: now,
    seenAt: new Map([...(same?.seenAt ?? []), ...found.map(({ subnetId }) => [subnetId, now] as const)]),
  });
  for (const subnet of found) view.subnets.set(subnet.subnetId, { kind: 'Known', value: subnet });
}

const vpcsOfNodes = (view: Ec2View): readonly VpcId[] => [
  ...new Set(
    [...view.instances.values()].flatMap((known) => (known.kind === 'Known' ? [known.value.vpcId] : [])),
  ),
];

/** The subnets of the class as believed at `now`. A process that has not asked for long enough has lost nothing yet. */
export function taggedSubnetsOf(
  view: Ec2View,
  {
    classRecord,
    existing,
    now,
  }: {
    readonly classRecord: NodeNetworkClassRecord;
    /** Subnets of the ENIConfigs that were made for it. */
    readonly existing: readonly SubnetId[];
    readonly now: number;
  },
): TaggedSubnets {
  const { name, spec } = classRecord;
  if (spec.kind !== 'Parsed' || spec.nodeNetworkClass.candidates?.kind !== 'SubnetTags')
    return { kind: 'Unknown' };
  const belief = view.tagged.get(name);
  if (belief === undefined || belief.question !== questionOf(spec.nodeNetworkClass.candidates.tags))
    return { kind: 'Unknown' };
  const found = [...belief.seenAt].filter(([, at]) => at === belief.readAt).map(([id]) => id);
  const since = (id: SubnetId): number => belief.seenAt.get(id) ?? belief.firstReadAt;
  const lately = existing.filter((id) => !found.includes(id) && now - since(id) < LOST_AFTER_MS);
  return { kind: 'Known', found: found.sort(), lately: new Set(lately) };
}
