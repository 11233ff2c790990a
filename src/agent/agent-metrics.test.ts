// What is measured of the agent, from a snapshot and from requests; and that the page on metrics lists it all.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createMemoryMetrics, type MemoryMetrics } from '../lab/metrics/memory-metrics.ts';
import type { CniReply } from '../protocol/agent-socket/cni-message.ts';
import { CNI_ERROR } from '../protocol/cni/cni-error.ts';
import { countMarks, measureRequests, observeAgent } from './agent-metrics.ts';
import type { AgentSnapshot } from './agent-snapshot.ts';
import { emptySnapshot, snapshot } from './testing-snapshot.ts';

function observed(state: AgentSnapshot): ReadonlyMap<string, number> {
  const metrics = createMemoryMetrics();
  observeAgent(metrics, { describe: () => state, awsCni: () => undefined, version: '1.2.3' });
  return metrics.scrape();
}

describe('metrics of a snapshot', () => {
  const seen = observed(snapshot());
  for (const [series, value] of [
    ['awscni_eni_allocated', 2],
    ['awscni_eni_max', 3],
    ['awscni_ip_max', 18],
    ['awscni_total_ip_addresses', 4],
    ['awscni_assigned_ip_addresses', 1],
    ['awscni_total_ipv4_prefixes', 0],
    ['awscni_assigned_ip_per_eni{eni="eni-00000001"}', 1],
    ['awscni_no_available_ip_addresses', 3],
    ['eniwhere_addresses{eni="eni-00000001",eni_config="blue",state="used"}', 1],
    ['eniwhere_addresses{eni="eni-00000001",eni_config="blue",state="cooling"}', 1],
    ['eniwhere_addresses{eni="eni-00000001",eni_config="blue",state="withdrawing"}', 1],
    ['eniwhere_addresses{eni="eni-00000001",eni_config="blue",state="free"}', 1],
    ['eniwhere_pods', 1],
    ['eniwhere_agent_serving', 1],
    ['eniwhere_adds_waiting', 2],
    ['eniwhere_host_healthy', 1],
    ['eniwhere_journal_healthy', 1],
    ['eniwhere_node_network_generation', 7],
    ['eniwhere_build_info{version="1.2.3"}', 1],
  ] as const) {
    test(`${series} is ${value}`, () => assert.equal(seen.get(series), value));
  }

  test('what is not known has no series: a nought would look like knowledge', () => {
    const names = [...observed(emptySnapshot).keys()];
    for (const name of ['awscni_eni_max', 'awscni_total_ip_addresses', 'eniwhere_aws_cni_leftovers'])
      assert.ok(!names.includes(name), name);
    assert.equal(observed(emptySnapshot).get('eniwhere_agent_serving'), 0);
  });

  test('leftovers of the AWS CNI are counted once they were looked for', () => {
    const metrics = createMemoryMetrics();
    const report = { leftovers: ['a', 'b'], livePods: [], notes: [] };
    observeAgent(metrics, { describe: () => snapshot(), awsCni: () => report, version: '1' });
    assert.equal(metrics.scrape().get('eniwhere_aws_cni_leftovers'), 2);
    assert.equal(metrics.scrape().get('eniwhere_aws_cni_live_pods'), 0);
  });
});

const clockOf = (...times: number[]): { now: () => number; bootNow: never; timer: never; sleep: never } =>
  ({ now: () => times.shift() ?? 0 }) as never;

const ADD = {
  command: 'ADD',
  sandbox: { containerId: 'c', ifName: 'eth0' },
  netnsPath: '/n',
  pod: { namespace: 'shop', name: 'web', uid: 'u' },
} as const;

describe('metrics of requests', () => {
  async function after(
    answer: () => Promise<CniReply>,
    times: number[],
  ): Promise<{ metrics: MemoryMetrics; failed: unknown }> {
    const metrics = createMemoryMetrics();
    const handle = measureRequests(metrics, clockOf(...times), answer);
    const failed = await handle(ADD).then(
      () => undefined,
      (error: unknown) => error,
    );
    return { metrics, failed };
  }

  test('a success is counted under code 0, with its time', async () => {
    const { metrics } = await after(async () => ({ kind: 'Done' }), [1000, 1020]);
    const seen = metrics.scrape();
    assert.equal(seen.get('eniwhere_cni_requests_total{code="0",command="ADD"}'), 1);
    assert.equal(seen.get('eniwhere_cni_request_duration_seconds_sum{command="ADD"}'), 0.02);
    assert.equal(seen.get('awscni_add_ip_req_count'), 1);
  });

  test('a refusal is counted under its code', async () => {
    const error = { code: CNI_ERROR.tryAgainLater, msg: 'no address', details: '' };
    const { metrics } = await after(async () => ({ kind: 'Error', error }), [0, 10]);
    assert.equal(metrics.scrape().get('eniwhere_cni_requests_total{code="11",command="ADD"}'), 1);
  });

  test('a mistake of ours is counted, and goes on to the caller', async () => {
    const { metrics, failed } = await after(() => Promise.reject(new Error('a bug')), [0, 10]);
    assert.match(String(failed), /a bug/);
    assert.equal(metrics.scrape().get('eniwhere_cni_requests_total{code="999",command="ADD"}'), 1);
  });

  test('a clock that is set back makes no negative time', async () => {
    const { metrics } = await after(async () => ({ kind: 'Done' }), [5000, 1000]);
    assert.equal(metrics.scrape().get('eniwhere_cni_request_duration_seconds_sum{command="ADD"}'), 0);
  });
});

test('rare branches are counted by the marks that they leave in the log', () => {
  const metrics = createMemoryMetrics();
  const marks: string[] = [];
  const quiet = (): void => {};
  const log = countMarks(metrics, {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: quiet,
    mark: (name) => marks.push(name),
  });
  log.mark('journal-torn');
  log.mark('journal-torn');
  assert.equal(metrics.scrape().get('eniwhere_rare_events_total{event="journal-torn"}'), 2);
  assert.deepEqual(marks, ['journal-torn', 'journal-torn']);
});
