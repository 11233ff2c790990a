// A node's pools, one per ENIConfig: each is planned as if the node had no other, but for the room that the others take.

import { matchesSelection } from './eni-role.ts';
import type { Intent } from './node-network.ts';
import type { EniView, NodeView, PodPool } from './node-view.ts';
import type { WarmTargets } from './warm-targets.ts';

/** `chosen`: the pool of an ENIConfig that pods chose; else the node's own. */
export interface PoolPart {
  readonly view: NodeView;
  readonly chosen: boolean;
}

/** Pools of pods that choose hold what the pods need, and nothing ahead of it. */
const demandOnly = ({ maxEni }: WarmTargets): WarmTargets => ({
  warmEni: 0,
  exact: true,
  ...(maxEni === undefined ? {} : { maxEni }),
});

/**
 * The node's own pool, then one per ENIConfig that pods chose. In each view the ENIs of other pools are somebody else's:
 * they count against the instance's limits and are not touched.
 */
export function poolParts(view: NodeView): readonly PoolPart[] {
  const { podPools = [] } = view;
  if (podPools.length === 0) return [{ view, chosen: false }];
  const isChosen = (eni: EniView): boolean =>
    podPools.some(({ selection }) => matchesSelection(eni, selection));
  const own: PoolPart = {
    view: narrowed(view, {
      enis: (eni) => !isChosen(eni),
      intents: (intent) => !podPools.some((pool) => isFor(intent, pool)),
    }),
    chosen: false,
  };
  const chosen = podPools.map((pool): PoolPart => {
    const narrow = narrowed(view, {
      enis: (eni) => matchesSelection(eni, pool.selection),
      intents: (intent) => isFor(intent, pool),
    });
    const settings = { ...view.settings, targets: demandOnly(view.settings.targets) };
    return { view: { ...narrow, selection: pool.selection, pods: pool.pods, settings }, chosen: true };
  });
  return [own, ...chosen];
}

interface Narrowing {
  readonly enis: (eni: EniView) => boolean;
  readonly intents: (intent: Intent) => boolean;
}

function narrowed(whole: NodeView, keep: Narrowing): NodeView {
  const view = { ...whole, podPools: [] };
  const { published } = view;
  const enis = view.enis.map((eni) =>
    eni.primary || keep.enis(eni)
      ? eni
      : { ...eni, owned: false, ...(eni.owned ? { otherPool: true as const } : {}) },
  );
  if (published === undefined) return { ...view, enis };
  const intents = published.spec.intents.filter(keep.intents);
  return { ...view, enis, published: { ...published, spec: { ...published.spec, intents } } };
}

const isFor = ({ eniConfig, subnetId }: Intent, { selection }: PodPool): boolean =>
  eniConfig === selection.name && subnetId === selection.subnetId;
