// What a run tells the person who watches: one line per expectation, what was seen, and a table at the end.

import { textTable } from './text-table.ts';

/** `Held`: a tick. `Broken`: a cross. `NotRun`: a packet check where there are no network namespaces. */
export type Verdict = 'Held' | 'Broken' | 'NotRun';

export interface ReportLine {
  readonly title: string;
  readonly verdict: Verdict;
  /** What was seen, in a few words: the address, the ENIConfig, the Event. For `NotRun`, why. */
  readonly seen: string;
  /** For a cross: what was expected. */
  readonly expected?: string;
  /** For a cross: conditions and Events that may say why, one per line. */
  readonly facts: readonly string[];
}

export interface NodeSummary {
  readonly node: string;
  readonly eniConfig: string;
  readonly why: string;
  readonly eniCount: number;
  readonly podCount: number;
  readonly usedCount: number;
  readonly heldCount: number;
}

export type RunEvent =
  | { readonly kind: 'Started'; readonly name: string; readonly about?: string; readonly network: string }
  | { readonly kind: 'Section'; readonly title: string }
  | { readonly kind: 'Did'; readonly text: string; readonly atMs: number }
  | { readonly kind: 'Line'; readonly line: ReportLine; readonly atMs: number }
  | {
      readonly kind: 'Finished';
      readonly nodes: readonly NodeSummary[];
      readonly counts: Readonly<Record<Verdict, number>>;
      /** Milliseconds of the run's own clock. */
      readonly tookMs: number;
      /** A virtual clock shows the time that the story took, not the time that people waited. */
      readonly virtualTime: boolean;
    };

/** How text is coloured; `plain` for files, pipes and NO_COLOR. */
export interface Palette {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly quiet: (text: string) => string;
  readonly strong: (text: string) => string;
}

const ansi =
  (code: number) =>
  (text: string): string =>
    `\u001b[${code}m${text}\u001b[0m`;
export const colours: Palette = { good: ansi(32), bad: ansi(31), quiet: ansi(2), strong: ansi(1) };

const same = (text: string): string => text;
export const plain: Palette = { good: same, bad: same, quiet: same, strong: same };

/** The event as lines, each with its newline. */
export function renderEvent(event: RunEvent, palette: Palette): string {
  return renderLines(event, palette)
    .map((line) => `${line}\n`)
    .join('');
}

function renderLines(event: RunEvent, palette: Palette): readonly string[] {
  switch (event.kind) {
    case 'Started':
      return [
        palette.strong(event.about === undefined ? event.name : `${event.name}: ${event.about}`),
        palette.quiet(`network: ${event.network}`),
      ];
    case 'Section':
      return ['', palette.strong(event.title)];
    case 'Did':
      return [palette.quiet(`  . ${event.text}  (${seconds(event.atMs)})`)];
    case 'Line':
      return renderLine(event.line, palette);
    case 'Finished':
      return ['', ...summaryTable(event.nodes), '', conclusion(event, palette)];
  }
}

/** Characters of a line of a report; what was seen goes below its title when both are longer. */
const LINE_LENGTH_MAX = 110;
/** Longer sightings of a tick (an Event's whole text) are cut: the point was that it is there. */
const SEEN_LENGTH_MAX = 220;

const cut = (text: string): string =>
  text.length <= SEEN_LENGTH_MAX ? text : `${text.slice(0, SEEN_LENGTH_MAX - 3)}...`;

function renderLine(line: ReportLine, palette: Palette): readonly string[] {
  const seen = line.seen === '' ? '' : palette.quiet(`  ${line.seen}`);
  switch (line.verdict) {
    case 'Held':
      if (line.title.length + line.seen.length <= LINE_LENGTH_MAX)
        return [`  ${palette.good('✓')} ${line.title}${seen}`];
      return [`  ${palette.good('✓')} ${line.title}`, `      ${palette.quiet(cut(line.seen))}`];
    case 'NotRun':
      return [`  - ${line.title}${palette.quiet(`  not run: ${line.seen}`)}`];
    case 'Broken':
      return [
        `  ${palette.bad('✗')} ${palette.bad(line.title)}`,
        `      expected: ${line.expected ?? line.title}`,
        `      seen:     ${line.seen}`,
        ...line.facts.map((fact) => `      ${fact}`),
      ];
  }
}

function summaryTable(nodes: readonly NodeSummary[]): readonly string[] {
  return textTable([
    ['node', 'ENIConfig', 'why', 'ENIs', 'pods', 'addresses'],
    ...nodes.map((node) => [
      node.node,
      node.eniConfig,
      node.why,
      String(node.eniCount),
      String(node.podCount),
      `${node.usedCount} used of ${node.heldCount}`,
    ]),
  ]);
}

function conclusion(event: Extract<RunEvent, { kind: 'Finished' }>, palette: Palette): string {
  const { Held, Broken, NotRun } = event.counts;
  const parts = [`${Held} held`, `${Broken} broken`, ...(NotRun > 0 ? [`${NotRun} not run`] : [])];
  const total = Held + Broken + NotRun;
  const text = `${total} ${total === 1 ? 'expectation' : 'expectations'}: ${parts.join(', ')}; ${seconds(event.tookMs)}${event.virtualTime ? ' of virtual time' : ''}`;
  return Broken > 0 ? palette.bad(text) : palette.good(text);
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
