// Which creates of ENIs are noted, kept, dropped and sent.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { intentId } from '../ids.ts';
import type { Intent } from './node-network.ts';
import { plan } from './plan.ts';
import { inOtherSubnet, NOW, nodeView, pods, published, settings } from './testing.ts';

type View = ReturnType<typeof nodeView>;

/** More than one ENI of nine addresses holds, with the warm two; an m5.large takes two. */
const POD_COUNT = 13;

function planned(view: View) {
  const result = plan(view);
  assert.ok(result !== undefined, 'the view can be planned');
  return result;
}
const intentsOf = (view: View): readonly Intent[] => planned(view).spec.intents;
const countsOf = (view: View): readonly number[] => intentsOf(view).map(({ addressCount }) => addressCount);
const created = (view: View): readonly string[] =>
  planned(view).actions.flatMap((action) => (action.do === 'CreateEni' ? [action.intent.id] : []));

/** The node whose intents stand in the spec, those of `sent` sent. */
const noted = (sent: number, change: Partial<View> = {}): View => {
  const view = published(nodeView({ pods: pods(POD_COUNT), unsentIntents: new Set() }));
  const ids = view.published?.spec.intents.map(({ id }) => id) ?? [];
  return { ...view, unsentIntents: new Set(ids.slice(sent)), freshIntentId: intentId('later'), ...change };
};

test('[COST-2] intents of all the ENIs that are needed are noted at once, each with its own id', () => {
  const view = nodeView({ pods: pods(POD_COUNT), unsentIntents: new Set() });
  assert.deepEqual(
    intentsOf(view).map(({ id, addressCount }) => [id, addressCount]),
    [
      ['fresh', 9],
      ['fresh.1', 6],
    ],
  );
  assert.deepEqual(created(view), [], 'nothing is created before they are published');
});

test('of intents that nobody has sent the first is sent, and the others stay', () => {
  const view = noted(0);
  assert.deepEqual(created(view), ['fresh']);
  assert.deepEqual(
    intentsOf(view).map(({ id }) => id),
    ['fresh', 'fresh.1'],
  );
});

test('where it is not known which intents were sent, ENIs are noted one at a time', () => {
  assert.deepEqual(countsOf(nodeView({ pods: pods(POD_COUNT) })), [9]);
});

test('[ENI-6] while it is not known what became of a create, no other one stands in the spec', () => {
  const view = noted(1);
  assert.deepEqual(
    intentsOf(view).map(({ id }) => id),
    ['fresh'],
  );
  assert.deepEqual(created(view), ['fresh']);
});

test('an intent that nobody has sent goes when it is not needed any more, and is replaced when less is needed', () => {
  const withoutWarm = { ...settings, targets: { warmIp: 0, warmEni: 0 } };
  for (const [podCount, expected] of [
    [0, []],
    [4, [['later', 4]]],
    [
      11,
      [
        ['fresh', 9],
        ['later.1', 2],
      ],
    ],
    [
      18,
      [
        ['fresh', 9],
        ['fresh.1', 6],
      ],
    ],
  ] as const) {
    const view = noted(0, { pods: pods(podCount), settings: withoutWarm });
    assert.deepEqual(
      intentsOf(view).map(({ id, addressCount }) => [id, addressCount]),
      expected,
      `${podCount} pods`,
    );
  }
});

test('an intent that nobody has sent goes with its selection, and before EC2 that refuses', () => {
  assert.ok(intentsOf(noted(0, { selection: inOtherSubnet })).every(({ id }) => id.startsWith('later')));
  const refused = { code: 'Unauthorized', of: 'Growth', message: 'no', fix: 'allow it' } as const;
  assert.deepEqual(intentsOf(noted(0, { obstacles: [{ ...refused, until: NOW + 1 }] })), []);
});

test('an intent that nobody has sent does not age', () => {
  const late = noted(0, { now: NOW + settings.intentLifeMs });
  assert.deepEqual(created(late), ['fresh']);
});

test('intents ask for no more than the subnet has, with an address for each ENI itself', () => {
  for (const [free, expected] of [
    [20, [9, 6]],
    [13, [9, 2]],
    [11, [9]],
    [10, [9]],
    [5, [4]],
    [0, []],
  ] as const) {
    const view = nodeView({ pods: pods(POD_COUNT), unsentIntents: new Set(), freeInPodSubnet: free });
    assert.deepEqual(countsOf(view), expected, `${free} free`);
  }
});
