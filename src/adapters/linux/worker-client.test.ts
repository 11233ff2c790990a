// Asking a Worker that is not there any more, and taking turns.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTurns } from './turns.ts';
import { startWorker } from './worker-client.ts';

describe('a Worker that fails', () => {
  test('leaves what was asked of it unknown, and fails what is asked later, with the cause', async () => {
    const worker = startWorker('no-such-worker');
    const pending = await worker.ask({ operation: 'anything' });
    assert.equal(pending.kind, 'unknown');
    assert.match(
      pending.kind === 'unknown' ? pending.cause : '',
      /Worker no-such-worker failed: .*Cannot find/s,
    );
    const later = await worker.ask({ operation: 'anything' });
    assert.equal(later.kind === 'failed' ? later.failure.errno : later.kind, 'ESHUTDOWN');
    await worker.close();
  });
});

describe('turns', () => {
  test('effects on one name run one after the other, those on another name at once, a failed one in its turn', async () => {
    const inTurn = createTurns();
    const events: string[] = [];
    const gates = new Map<string, () => void>();
    const effect = (label: string) => async (): Promise<string> => {
      events.push(`${label} begins`);
      await new Promise<void>((resolve) => {
        gates.set(label, resolve);
      });
      events.push(`${label} ends`);
      if (label === 'a1') throw new Error(label);
      return label;
    };
    const first = inTurn('a', effect('a1'));
    const second = inTurn('a', effect('a2'));
    const other = inTurn('b', effect('b1'));
    assert.deepEqual(events, ['a1 begins', 'b1 begins']);
    gates.get('a1')?.();
    await assert.rejects(first, /a1/);
    gates.get('b1')?.();
    assert.equal(await other, 'b1');
    gates.get('a2')?.();
    assert.equal(await second, 'a2');
    assert.deepEqual(events, ['a1 begins', 'b1 begins', 'a1 ends', 'a2 begins', 'b1 ends', 'a2 ends']);
  });
});
