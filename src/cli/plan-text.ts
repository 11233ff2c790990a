// What `eniwhere plan` says to people.

import { type Forecast, freeIn, hasBlocksApart } from '../domain/capacity/grow.ts';
import type { CapacityModel } from '../domain/capacity/model.ts';
import { maxPodsOf, podsOnNode } from '../domain/capacity/settle-node.ts';
import type { Remedy } from '../domain/capacity/remedies.ts';
import { columns } from './columns.ts';
import type { Palette } from '../lab/scenario/report.ts';
import { fillBar, percent } from './palette.ts';

const BAR_WIDTH = 24;
const SPARK_WIDTH = 48;
const SPARKS = '▁▂▃▄▅▆▇█';

/** Numbers are aligned to the right. */
const NUMBER_COLUMNS: ReadonlySet<number> = new Set([3, 4, 5, 6, 7, 8]);

export function forecastText(model: CapacityModel, found: Forecast, palette: Palette): readonly string[] {
  return [
    ...presentText(found, palette),
    ...shortText(found, palette),
    ...clippedText(model),
    '',
    ...growthText(model, found, palette),
  ];
}

function presentText({ present }: Forecast, palette: Palette): readonly string[] {
  const rows = present.map((state) => {
    const { subnet, usedCount, usableCount, podCount, nodeCount, idleCount, eniCount } = state;
    const share = usableCount === 0 ? 1 : usedCount / usableCount;
    return [
      subnet.name,
      subnet.zone,
      fillBar(share, BAR_WIDTH, palette),
      percent(share),
      String(freeIn(state)),
      String(nodeCount),
      subnet.for === 'pods' ? String(podCount) : '-',
      subnet.for === 'pods' ? String(idleCount) : '-',
      String(eniCount),
    ];
  });
  const head = ['SUBNET', 'ZONE', 'IN USE', '', 'FREE', 'NODES', 'PODS', 'IDLE', 'ENIS'];
  const idle = present.reduce((sum, one) => sum + one.idleCount, 0);
  const pods = present.reduce((sum, one) => sum + one.podCount, 0);
  return [
    palette.strong('Now'),
    ...columns([head, ...rows], NUMBER_COLUMNS),
    ...present
      .filter(hasBlocksApart)
      .map(
        ({ subnet, freeBlockCount }) =>
          `${subnet.name} has ${freeBlockCount} whole blocks of 16 free in what is reserved for prefixes; the columns speak of the rest.`,
      ),
    `Warm pools hold ${idle} addresses that no pod uses, beside ${pods} that pods have.`,
  ];
}

function shortText({ short }: Forecast, palette: Palette): readonly string[] {
  return [...short].map(([name, count]) =>
    palette.bad(`${name} is ${count} addresses short of what its nodes ask for.`),
  );
}

/** More pods than max pods are not bound to a node. */
const clippedText = ({ groups }: CapacityModel): readonly string[] =>
  groups
    .filter((group) => podsOnNode(group) < group.podsPerNode)
    .map(
      (group) =>
        `Group ${group.name}: counted with ${podsOnNode(group)} pods per node, not ${group.podsPerNode}: max pods of ${group.limits.instanceType} is ${maxPodsOf(group)}.`,
    );

function growthText(model: CapacityModel, found: Forecast, palette: Palette): readonly string[] {
  const { steps, full, nodeMax, podMax, isCut } = found;
  const first = steps[0];
  const last = steps.at(-1);
  const rows = model.subnets.map((subnet, index) => {
    const end = full.find((one) => one.subnet === subnet.name);
    const usable = found.present[index]?.usableCount ?? 1;
    return [
      subnet.name,
      spark(steps.map((step) => (step.usedCounts[index] ?? 0) / Math.max(1, usable))),
      end === undefined ? 'not full' : `full with ${end.nodeCount} nodes and ${end.podCount} pods`,
    ];
  });
  return [
    palette.strong(`Growth, node by node, from ${first?.nodeCount ?? 0} to ${last?.nodeCount ?? 0} nodes`),
    ...columns(rows),
    isCut
      ? `Not at its end with ${nodeMax} nodes and ${podMax} pods.`
      : `All that fits: ${nodeMax} nodes and ${podMax} pods.`,
  ];
}

function spark(shares: readonly number[]): string {
  const width = Math.min(SPARK_WIDTH, shares.length);
  return Array.from({ length: width }, (_, column) => {
    const share = shares[Math.round((column * (shares.length - 1)) / Math.max(1, width - 1))] ?? 0;
    return SPARKS[Math.min(SPARKS.length - 1, Math.floor(Math.min(1, share) * SPARKS.length))];
  }).join('');
}

export function remediesText(remedies: readonly Remedy[], palette: Palette): readonly string[] {
  if (remedies.length === 0) return [];
  return [
    '',
    palette.strong('What would help'),
    ...remedies.map((one) => `  +${one.nodeGain} nodes, +${one.podGain} pods: ${one.what}`),
  ];
}

export function whatIfText(
  base: Forecast,
  then: Forecast,
  { changes, palette }: { readonly changes: readonly string[]; readonly palette: Palette },
): readonly string[] {
  const row = (what: string, before: number, after: number): readonly string[] => [
    what,
    String(before),
    String(after),
    after === before ? '' : `${after > before ? '+' : ''}${after - before}`,
  ];
  const idle = ({ present }: Forecast): number => present.reduce((sum, one) => sum + one.idleCount, 0);
  const short = ({ short }: Forecast): number => [...short.values()].reduce((sum, one) => sum + one, 0);
  return [
    palette.strong(`What if ${changes.join(', ')}`),
    ...columns(
      [
        ['', 'NOW', 'THEN', ''],
        row('addresses that the nodes ask for', base.wantedCount, then.wantedCount),
        row('of these, not to be had', short(base), short(then)),
        row('held by warm pools, no pod', idle(base), idle(then)),
        row('nodes that fit', base.nodeMax, then.nodeMax),
        row('pods that fit', base.podMax, then.podMax),
      ],
      new Set([1, 2, 3]),
    ),
    ...(short(then) > short(base)
      ? [palette.bad('Do not: there are not enough addresses for it, and pods would wait.')]
      : []),
    '',
  ];
}
