// The picture of growth: the use of each subnet over the number of nodes, as SVG.

import type { Forecast } from '../domain/capacity/grow.ts';
import type { CapacityModel } from '../domain/capacity/model.ts';

const WIDTH = 860;
const HEIGHT = 420;
const PLOT = { left: 64, top: 48, right: 640, bottom: 360 };
/** Told apart also by those who do not see all colours: dashes differ, too. https://jfly.uni-koeln.de/color/ */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];
const DASHES = ['', '8 3', '2 3', '8 3 2 3'];
/** A line of more points cannot be told from one of these. */
const POINTS_MAX = 300;

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Pure: the same forecast gives the same bytes. */
export function growthSvg(model: CapacityModel, { steps, full, present }: Forecast): string {
  const nodeMax = Math.max(1, ...steps.map((step) => step.nodeCount));
  const x = (nodes: number): number => PLOT.left + (nodes / nodeMax) * (PLOT.right - PLOT.left);
  const y = (share: number): number => PLOT.bottom - Math.min(1, share) * (PLOT.bottom - PLOT.top);
  const stride = Math.max(1, Math.ceil(steps.length / POINTS_MAX));
  const shown = steps.filter((_, at) => at % stride === 0 || at === steps.length - 1);
  const lines = model.subnets.map((_, index) => {
    const usable = Math.max(1, present[index]?.usableCount ?? 1);
    const points = shown.map(
      (step) => `${x(step.nodeCount).toFixed(1)},${y((step.usedCounts[index] ?? 0) / usable).toFixed(1)}`,
    );
    const dash = DASHES[index % DASHES.length] ?? '';
    return `<polyline fill="none" stroke="${colourOf(index)}" stroke-width="2"${dash === '' ? '' : ` stroke-dasharray="${dash}"`} points="${points.join(' ')}"/>`;
  });
  const marks = full.map((one) => {
    const index = model.subnets.findIndex((subnet) => subnet.name === one.subnet);
    return `<circle cx="${x(one.nodeCount).toFixed(1)}" cy="${y(1).toFixed(1)}" r="4" fill="${colourOf(index)}"><title>${escape(one.subnet)} is full with ${one.nodeCount} nodes and ${one.podCount} pods</title></circle>`;
  });
  const now = present.reduce((sum, one) => sum + (one.subnet.for === 'pods' ? one.nodeCount : 0), 0);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${PLOT.left}" y="24" font-size="15">Addresses in use, by subnet, as nodes are added</text>`,
    ...grid(x, y, nodeMax),
    `<line x1="${x(now).toFixed(1)}" y1="${PLOT.top}" x2="${x(now).toFixed(1)}" y2="${PLOT.bottom}" stroke="#999999" stroke-dasharray="3 3"/>`,
    `<text x="${(x(now) + 4).toFixed(1)}" y="${PLOT.bottom - 6}" fill="#666666">now: ${now} nodes</text>`,
    ...lines,
    ...marks,
    ...legend(model, full),
    '</svg>',
    '',
  ].join('\n');
}

const colourOf = (index: number): string => COLOURS[Math.max(0, index) % COLOURS.length] ?? '#000000';

function grid(
  x: (nodes: number) => number,
  y: (share: number) => number,
  nodeMax: number,
): readonly string[] {
  const across = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    `<line x1="${PLOT.left}" y1="${y(share).toFixed(1)}" x2="${PLOT.right}" y2="${y(share).toFixed(1)}" stroke="#e0e0e0"/>`,
    `<text x="${PLOT.left - 8}" y="${(y(share) + 4).toFixed(1)}" text-anchor="end">${share * 100} %</text>`,
  ]);
  const along = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const nodes = Math.round(nodeMax * share);
    return `<text x="${x(nodes).toFixed(1)}" y="${PLOT.bottom + 18}" text-anchor="middle">${nodes}</text>`;
  });
  return [
    ...across,
    ...along,
    `<text x="${(PLOT.left + PLOT.right) / 2}" y="${PLOT.bottom + 40}" text-anchor="middle">nodes</text>`,
  ];
}

function legend(model: CapacityModel, full: Forecast['full']): readonly string[] {
  return model.subnets.flatMap((subnet, index) => {
    const y = PLOT.top + index * 34;
    const end = full.find((one) => one.subnet === subnet.name);
    const dash = DASHES[index % DASHES.length] ?? '';
    return [
      `<line x1="660" y1="${y}" x2="684" y2="${y}" stroke="${colourOf(index)}" stroke-width="2"${dash === '' ? '' : ` stroke-dasharray="${dash}"`}/>`,
      `<text x="690" y="${y + 4}">${escape(subnet.name)} (${subnet.cidr})</text>`,
      `<text x="690" y="${y + 18}" fill="#666666">${end === undefined ? 'not full' : `full with ${end.nodeCount} nodes`}</text>`,
    ];
  });
}
