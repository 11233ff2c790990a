// An ENI's number on its node: the mark of its packets, and the number of its routing table.

import { assert } from '../result.ts';
import { MARK_MASK, PODS_TABLE } from './host-datapath.ts';

/** Device indexes per network card that get numbers of their own; no type takes more ENIs on a card (ec2.md). */
const DEVICES_PER_CARD_MAX = 16;

/** Where an ENI is attached. */
export interface EniPlace {
  readonly deviceIndex: number;
  readonly networkCardIndex: number;
}

/**
 * N of datapath.md: 1 + device index + 16 x network card, so the primary ENI is 1 and 0 means "no ENI chosen". It must
 * fit the bits of the mark: an ENI on a card above 7 cannot serve pods, and the controller makes none there.
 */
export function eniOrdinal({ deviceIndex, networkCardIndex }: EniPlace): number {
  assert(
    Number.isInteger(deviceIndex) && deviceIndex >= 0 && deviceIndex < DEVICES_PER_CARD_MAX,
    `a device index lies in [0, ${DEVICES_PER_CARD_MAX}), got ${deviceIndex}`,
  );
  const ordinal = 1 + deviceIndex + DEVICES_PER_CARD_MAX * networkCardIndex;
  assert(
    Number.isInteger(ordinal) && ordinal >= 1 && ordinal <= MARK_MASK,
    `an ENI on network card ${networkCardIndex} fits a mark of ${MARK_MASK}`,
  );
  return ordinal;
}

/** Routing table of the ENI with the ordinal. */
export const eniTable = (ordinal: number): number => PODS_TABLE + ordinal;
