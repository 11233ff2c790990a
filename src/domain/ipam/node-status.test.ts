// The status that the agent writes, and when two are the same.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ip } from '../address/testing.ts';
import { ledgerFrom } from './apply-record.ts';
import { type Condition, emptyStatus, type NodeNetworkStatus } from './node-network.ts';
import { isSameStatus, type StatusInput, statusOf } from './node-status.ts';
import { allocation, sandbox } from './testing-node.ts';

const serving = { status: 'True', reason: 'Serving', message: 'pods get addresses' } as const;
const selected: Condition = {
  type: 'EniConfigSelected',
  status: 'True',
  reason: 'Label',
  message: 'm',
  lastTransitionAt: 3,
};
const status = (input: Partial<StatusInput>): NodeNetworkStatus =>
  statusOf({
    ledger: ledgerFrom([]),
    undurable: new Set(),
    generation: 7,
    ready: serving,
    previous: emptyStatus,
    now: 100,
    ...input,
  });

describe('the status', () => {
  test('lists used, cooling and withdrawn addresses, sorted', () => {
    const ledger = ledgerFrom([
      { type: 'Allocated', at: 0, allocation: allocation('y', '10.1.0.9') },
      { type: 'Allocated', at: 0, allocation: allocation('x', '10.1.0.10') },
      { type: 'Released', at: 0, sandbox: sandbox('z'), addresses: [ip('10.1.0.5'), ip('10.1.0.4')] },
      { type: 'Withdrawn', at: 0, ip: ip('10.1.0.7'), generation: 1 },
      { type: 'Withdrawn', at: 0, ip: ip('10.1.0.6'), generation: 1 },
    ]);
    const { used, cooling, withdrawn, observedGeneration } = status({ ledger });
    assert.deepEqual(used, [
      { ip: '10.1.0.10', pod: 'shop/x' },
      { ip: '10.1.0.9', pod: 'shop/y' },
    ]);
    assert.deepEqual(cooling, ['10.1.0.4', '10.1.0.5']);
    assert.deepEqual(withdrawn, ['10.1.0.6', '10.1.0.7']);
    assert.equal(observedGeneration, 7);
  });

  test('leaves out a withdrawal that is not durable yet: a crash would forget it [IP-6]', () => {
    const ledger = ledgerFrom([{ type: 'Withdrawn', at: 0, ip: ip('10.1.0.6'), generation: 1 }]);
    assert.deepEqual(status({ ledger, undurable: new Set([ip('10.1.0.6')]) }).withdrawn, []);
  });

  test('keeps the conditions of others as they are', () => {
    const { conditions } = status({ previous: { ...emptyStatus, conditions: [selected] } });
    assert.deepEqual(
      conditions.filter((one) => one.type !== 'AgentReady'),
      [selected],
    );
  });

  test('dates AgentReady by its last change', () => {
    const first = status({ now: 100 });
    const same = status({ now: 200, previous: first });
    const changed = status({
      now: 300,
      previous: same,
      ready: { status: 'False', reason: 'JournalFailed', message: 'm' },
    });
    const dates = [first, same, changed].map(({ conditions }) =>
      conditions.map((one) => one.lastTransitionAt),
    );
    assert.deepEqual(dates, [[100], [100], [300]]);
  });

  test('is the same when only the order of conditions differs, and another when anything else does', () => {
    const one = status({ previous: { ...emptyStatus, conditions: [selected] } });
    assert.ok(isSameStatus(one, { ...one, conditions: [...one.conditions].reverse() }));
    for (const other of [
      { ...one, observedGeneration: 8 },
      { ...one, cooling: [ip('10.1.0.4')] },
      { ...one, withdrawn: [ip('10.1.0.4')] },
      {
        ...one,
        used: status({
          ledger: ledgerFrom([{ type: 'Allocated', at: 0, allocation: allocation('y', '10.1.0.9') }]),
        }).used,
      },
      { ...one, conditions: [selected] },
    ]) {
      assert.ok(!isSameStatus(one, other), JSON.stringify(other));
    }
  });
});
