// Plays a scenario's steps in their order, tells each, and sums up.

import { servedPodCount } from '../../domain/ipam/node-status.ts';
import { podAddresses } from '../ec2/pod-addresses.ts';
import { type Interrupt, NO_INTERRUPT } from './interrupt.ts';
import { judge } from './judge.ts';
import type { Lab } from './lab.ts';
import { perform } from './perform.ts';
import type { NodeSummary, RunEvent, Verdict } from './report.ts';

export interface TimelineResult {
  readonly counts: Readonly<Record<Verdict, number>>;
  readonly nodes: readonly NodeSummary[];
  readonly tookMs: number;
}

/**
 * Plays every step, also after a cross: one mistake often explains the next. Ends soon after an interrupt, and then has
 * nothing under way any more.
 */
export async function runTimeline(
  lab: Lab,
  tell: (event: RunEvent) => void,
  interrupt: Interrupt = NO_INTERRUPT,
): Promise<TimelineResult> {
  const startedAt = lab.clock.now();
  const atMs = (): number => lab.clock.now() - startedAt;
  const counts: Record<Verdict, number> = { Held: 0, Broken: 0, NotRun: 0 };
  for (const step of lab.scenario.steps) {
    if (interrupt.requested()) break;
    if (step.kind === 'Expectation') {
      const line = await judge(lab, step.expectation, interrupt);
      // An expectation whose time was cut short has no verdict.
      if (interrupt.requested()) break;
      counts[line.verdict] += 1;
      tell({ kind: 'Line', line, atMs: atMs() });
    } else if (step.action.verb === 'section') {
      tell({ kind: 'Section', title: step.action.request });
    } else {
      tell({ kind: 'Did', text: await perform(lab, step.action, interrupt), atMs: atMs() });
    }
  }
  return { counts, nodes: [...lab.nodes.keys()].map((name) => summarise(lab, name)), tookMs: atMs() };
}

function summarise(lab: Lab, name: string): NodeSummary {
  const record = lab.cluster.admin.nodeNetwork(name);
  const node = lab.nodes.get(name);
  const selection = record?.spec.selection;
  const enis = node === undefined ? [] : lab.ec2.truth.enisOf(node.instanceId);
  const secondary = enis.filter((eni) => eni.attachment?.deviceIndex !== 0);
  return {
    node: name,
    eniConfig:
      selection === undefined || selection.kind === 'None'
        ? '-'
        : selection.kind === 'EniConfig'
          ? selection.name
          : "(node's subnet)",
    why: selection?.source ?? 'not decided',
    eniCount: secondary.length,
    podCount: [...(node?.kubelet.pods.values() ?? [])].filter(({ phase }) => phase === 'Running').length,
    usedCount: record === undefined ? 0 : servedPodCount(record.status),
    heldCount: secondary.reduce((sum, eni) => sum + podAddresses(eni).length, 0),
  };
}
