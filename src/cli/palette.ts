// Colours and bars for terminals.

import { colours, type Palette, plain } from '../lab/scenario/report.ts';
import type { CliContext } from './context.ts';

export const paletteOf = ({ colour }: Pick<CliContext, 'colour'>): Palette => (colour ? colours : plain);

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar of `width` columns, filled to the share of 0 to 1. */
export function bar(share: number, width: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  const full = Math.floor(eighths / 8);
  const part = EIGHTHS[eighths % 8] ?? '';
  return `${'█'.repeat(full)}${part}`.padEnd(width, '·');
}

const WARN_SHARE = 0.8;
const BAD_SHARE = 0.95;

/** The bar in the colour of its fill: green, plain from 80 % on, red from 95 % on. */
export function fillBar(share: number, width: number, palette: Palette): string {
  const text = bar(share, width);
  if (share >= BAD_SHARE) return palette.bad(text);
  return share >= WARN_SHARE ? palette.strong(text) : palette.good(text);
}

export const percent = (share: number): string => `${Math.round(share * 100)} %`;
