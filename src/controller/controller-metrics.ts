// What is measured of the controller; docs/metrics.md has it all.

import type { Metrics, Sample } from '../ports/metrics.ts';
import { PRIORITIES } from './budget-line.ts';
import type { BucketFacts, BudgetAction } from './budget.ts';

/** What a running controller says of itself. */
export interface ControllerFacts {
  readonly budget: readonly BucketFacts[];
  readonly nodeCount: number;
  /** ENIs on nodes that are not Eniwhere's, primary ones not counted. */
  readonly foreignEniCount: number;
  /** Own ENIs that belong to no node, seen once so far or waiting to be deleted. */
  readonly leakSuspectCount: number;
  readonly collectedEniCount: number;
}

/** `facts` is asked at each scrape; undefined while another replica leads: then only `eniwhere_leading` is there. */
export function observeController(metrics: Metrics, facts: () => ControllerFacts | undefined): void {
  const single = (
    name: string,
    help: string,
    read: (known: ControllerFacts) => number,
    kind: 'gauge' | 'counter' = 'gauge',
  ): void =>
    metrics.observe({
      name,
      help,
      kind,
      read: () => {
        const known = facts();
        return known === undefined ? [] : [{ labels: {}, value: read(known) }];
      },
    });
  metrics.observe({
    name: 'eniwhere_leading',
    help: '1 while this replica holds the lease and works, 0 while it waits.',
    read: () => [{ labels: {}, value: facts() === undefined ? 0 : 1 }],
  });
  single('eniwhere_nodes', 'Nodes of the cluster.', (known) => known.nodeCount);
  single('eniwhere_foreign_enis', "ENIs on nodes that are not Eniwhere's.", (known) => known.foreignEniCount);
  single(
    'eniwhere_leak_suspects',
    'Own ENIs that belong to no node any more.',
    (known) => known.leakSuspectCount,
  );
  single(
    'eniwhere_enis_collected_total',
    'Leaked ENIs that were deleted, or made to go with their instance.',
    (known) => known.collectedEniCount,
    'counter',
  );
  observeBudget(metrics, () => facts()?.budget ?? []);
}

function observeBudget(metrics: Metrics, buckets: () => readonly BucketFacts[]): void {
  const perAction = (
    name: string,
    help: string,
    read: (bucket: BucketFacts) => number,
    kind: 'gauge' | 'counter' = 'gauge',
  ): void =>
    metrics.observe({
      name,
      help,
      kind,
      labels: ['action'],
      read: (): readonly Sample<'action'>[] =>
        buckets().map((bucket) => ({ labels: { action: bucket.action }, value: read(bucket) })),
    });
  perAction('eniwhere_ec2_tokens', 'Tokens in the bucket of an EC2 action.', ({ tokens }) => tokens);
  perAction(
    'eniwhere_ec2_rate_share',
    'Share of its documented rate at which an action is called; below 1 after a throttle.',
    ({ rateShare }) => rateShare,
  );
  perAction(
    'eniwhere_ec2_requests_total',
    'Requests to EC2 that got a token.',
    ({ grantedCount }) => grantedCount,
    'counter',
  );
  perAction(
    'eniwhere_ec2_throttled_total',
    'Requests that EC2 answered with RequestLimitExceeded.',
    ({ throttledCount }) => throttledCount,
    'counter',
  );
  perAction(
    'eniwhere_ec2_waited_seconds_total',
    'Time that requests waited for their token.',
    ({ waitedMs }) => waitedMs / 1000,
    'counter',
  );
  metrics.observe({
    name: 'eniwhere_ec2_waiting',
    help: 'Nodes in line for a token, by urgency.',
    labels: ['action', 'priority'],
    read: (): readonly Sample<'action' | 'priority'>[] =>
      buckets().flatMap(({ action, waiting }: { action: BudgetAction; waiting: BucketFacts['waiting'] }) =>
        PRIORITIES.map((priority) => ({ labels: { action, priority }, value: waiting.get(priority) ?? 0 })),
      ),
  });
}
