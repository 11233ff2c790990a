// Whether the nodes of a seeded run hold single addresses or blocks, and how many ahead of demand.

import type { NodeName } from '../../../domain/ids.ts';
import { ADDRESSES_PER_PREFIX } from '../../../domain/instance/slots.ts';
import { type Mode, MODES } from '../../../domain/ipam/mode.ts';
import type { PoolWish } from '../../checkers/warm-pool.ts';
import { chance, pick } from '../../kernel/draw.ts';
import type { SeededRandom } from '../../kernel/seeded-random.ts';
import type { ChoiceModel } from './sim-choice.ts';

/** The setting of the whole cluster; classes may say otherwise where it is Prefix. */
export interface SimMode {
  readonly mode: Mode;
  /** WARM_IP_TARGET; absent: the target below holds. */
  readonly warmIp?: number;
  /** WARM_PREFIX_TARGET. */
  readonly warmPrefix: number;
  /** Draws the modes of classes. */
  readonly classes: SeededRandom;
}

const PREFIX_ODDS = 0.3;

/** Drawn from streams of its own, so that what else a seed draws stays as it is. */
export function drawSimMode(world: SeededRandom): SimMode {
  const [random, classes] = [world.fork('mode'), world.fork('modes of classes')];
  if (!chance(random, PREFIX_ODDS)) return { mode: 'SecondaryIP', warmIp: 1, warmPrefix: 1, classes };
  const warm = pick(random, [{ warmIp: 1, warmPrefix: 1 }, { warmPrefix: 1 }, { warmPrefix: 0 }]);
  return { mode: 'Prefix', ...warm, classes };
}

const CLASS_MODE_ODDS = 0.7;

/** What a class says of the mode: nothing where all nodes hold single addresses. */
export const drawClassMode = ({ mode, classes }: SimMode): { readonly mode?: Mode } =>
  mode === 'Prefix' && chance(classes, CLASS_MODE_ODDS) ? { mode: pick(classes, MODES) } : {};

/** For the controller; no whole ENI is kept warm, or small subnets would have room for nothing else. */
export const settingsOf = ({ mode, warmIp, warmPrefix }: SimMode): Readonly<Record<string, string>> => ({
  ENABLE_PREFIX_DELEGATION: String(mode === 'Prefix'),
  WARM_ENI_TARGET: '0',
  WARM_PREFIX_TARGET: String(warmPrefix),
  ...(warmIp === undefined ? {} : { WARM_IP_TARGET: String(warmIp) }),
});

/** What a node is to hold, by the objects as they are. */
export function poolWishOf(cluster: SimMode, choices: ChoiceModel, node: NodeName): PoolWish {
  const mode = choices.modeOf(node) ?? cluster.mode;
  const warmIp = choices.warmIpOf(node) ?? cluster.warmIp;
  if (warmIp !== undefined) return { mode, warmCount: warmIp };
  // The other targets count what pods without IPv4 have none of, or whole ENIs, of which none is kept warm.
  if (!choices.familiesOf(node).includes('IPv4')) return { mode, warmCount: 0 };
  return mode === 'Prefix'
    ? {
        mode,
        warmCount: cluster.warmPrefix * ADDRESSES_PER_PREFIX,
        warmPrefixCount: cluster.warmPrefix,
      }
    : { mode, warmCount: 0, wholeEnisOnly: true };
}
