// The planner, case by case: what to do next for one node, and why nothing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { intentId } from '../ids.ts';
import type { Action } from './action.ts';
import { plan } from './plan.ts';
import {
  addresses,
  eniId,
  inOtherSubnet,
  NOW,
  nodeView,
  noSelection,
  OTHER_SUBNET,
  POD_SUBNET,
  podEni,
  pods,
  published,
  settings,
  settled,
  unattached,
} from './testing.ts';

type View = ReturnType<typeof nodeView>;

function planned(view: View) {
  const result = plan(view);
  assert.ok(result !== undefined, 'the view can be planned');
  return result;
}
const verbs = (view: View): readonly Action['do'][] => planned(view).actions.map((action) => action.do);
const specOf = (view: View, n: number) => planned(view).spec.enis.find((eni) => eni.eniId === eniId(n));

test('a node without ENIs notes an intent before anything is created, and creates only once it is published', () => {
  const view = nodeView();
  assert.deepEqual(verbs(view), []);
  assert.equal(planned(view).spec.intents.length, 1);
  const next = planned(published(view));
  assert.deepEqual(
    next.actions.map((action) => action.do),
    ['CreateEni'],
  );
  assert.equal(next.spec.intents[0]?.id, intentId('fresh'), 'the same intent stays open');
});

test('demand comes first, the warm target second: the new ENI brings both', () => {
  for (const [podCount, warmIp, expected] of [
    [0, 0, undefined],
    [0, 2, 2],
    [3, 0, 3],
    [3, 2, 5],
    [30, 2, 9],
  ] as const) {
    const view = nodeView({
      pods: pods(podCount),
      settings: { ...settings, targets: { warmIp, warmEni: 0 } },
    });
    assert.equal(
      planned(view).spec.intents[0]?.addressCount,
      expected,
      `${podCount} pods, warm target ${warmIp}`,
    );
  }
});

test('WARM_ENI_TARGET keeps a whole ENI of free addresses, and stops at max pods', () => {
  const targets = { warmEni: 1 };
  const one = podEni(1, { addresses: addresses(10, 9) });
  const asOne = settled(nodeView({ podEnis: [one], settings: { ...settings, targets } }));
  assert.deepEqual(planned(asOne).spec.intents, [], 'nine free addresses are one ENI');
  const used = [{ ip: addresses(10, 1)[0]!, pod: pods(1)[0]! }];
  const view = nodeView({ podEnis: [one], pods: pods(1), settings: { ...settings, targets } });
  const busy = published(view, { used }, planned(asOne).spec);
  assert.equal(
    planned(busy).spec.intents[0]?.addressCount,
    1,
    'one pod breaks it: one more address mends it',
  );
  const capped = { ...busy, maxPods: 9 };
  assert.deepEqual(planned(capped).spec.intents, [], 'more than max pods would serve nobody');
});

test('[SEL-1] without a selection nothing is created, attached, assigned or given back', () => {
  const enis = [
    podEni(1, { addresses: addresses(10, 5) }),
    unattached(podEni(2, { addresses: addresses(30, 2) })),
  ];
  const view = settled(nodeView({ podEnis: enis, pods: pods(9), selection: noSelection }));
  assert.deepEqual(verbs(view), []);
  assert.deepEqual(planned(view).spec.intents, []);
  assert.equal(specOf(view, 1)?.cordoned, true, 'new pods stay away from the subnet that is not selected');
  assert.deepEqual(specOf(view, 1)?.withdrawing, [], 'but nothing is given back for a mistake');
  const condition = planned(view).conditions.find((one) => one.type === 'EniConfigSelected');
  assert.deepEqual([condition?.status, condition?.reason], ['False', 'EniConfigNotFound']);
  assert.match(condition?.message ?? '', /ENIConfig "x" does not exist; create it/);
});

test('[SEL-1] an intent that was noted before the selection failed is not repeated', () => {
  const open = published(nodeView({ pods: pods(1) }));
  assert.deepEqual(verbs(open), ['CreateEni']);
  assert.deepEqual(verbs({ ...open, selection: noSelection }), []);
});

test('while nothing can be read, ENIs stay as they are', () => {
  const before = settled(nodeView({ podEnis: [podEni(1, { addresses: addresses(10, 5) })] }));
  const unreadable = { ...noSelection, problem: 'Unreadable' as const };
  assert.equal(specOf({ ...before, selection: unreadable }, 1)?.cordoned, false);
});

test('an ENI that is sighted closes its intent and is attached at the lowest free device index', () => {
  const open = published(nodeView({ pods: pods(2), podEnis: [podEni(2, { addresses: addresses(10, 1) })] }));
  const id = open.published!.spec.intents[0]?.id;
  const made = unattached(
    podEni(9, { addresses: addresses(40, 3), ...(id === undefined ? {} : { intentId: id }) }),
  );
  const view = { ...open, pods: pods(12), enis: [...open.enis, made] };
  const attach = planned(view).actions.find((action) => action.do === 'AttachEni');
  assert.deepEqual([attach?.eniId, attach?.deviceIndex], [eniId(9), 1]);
  assert.ok(planned(view).spec.intents.every((intent) => intent.id !== id));
});

test('an intent ends by sighting, by a definite failure of its first try, or by expiry, and never before', () => {
  const open = published(nodeView({ pods: pods(1) }));
  const old = open.published!.spec.intents[0]!;
  const later = (ms: number): View => ({ ...open, now: NOW + ms, freshIntentId: intentId('second') });
  const ids = (view: View) => planned(view).spec.intents.map((intent) => intent.id);
  assert.deepEqual(
    ids(later(settings.intentRetryMs)),
    [old.id],
    'no retry any more, but it may still turn up',
  );
  assert.deepEqual(verbs(later(settings.intentRetryMs)), []);
  assert.deepEqual(ids(later(settings.intentLifeMs)), ['second'], 'expired: a new wish gets a new token');
  assert.deepEqual(ids({ ...later(1000), failedIntents: new Set([old.id]) }), ['second']);
});

test('free slots are filled before an ENI is created, fullest first', () => {
  const enis = [podEni(1, { addresses: addresses(10, 4) }), podEni(2, { addresses: addresses(30, 7) })];
  const view = settled(nodeView({ podEnis: enis, pods: pods(20) }));
  const action = planned(view).actions[0];
  assert.deepEqual(action?.do === 'AssignAddresses' && [action.eniId, action.count], [eniId(2), 2]);
});

test('an ENI whose assign has an unknown outcome rests, and no other ENI is created meanwhile', () => {
  const enis = [podEni(1, { addresses: addresses(10, 4), heldUntil: NOW + 1 })];
  const view = settled(nodeView({ podEnis: enis, pods: pods(8) }));
  assert.deepEqual(verbs(view), []);
  assert.deepEqual(planned(view).spec.intents, []);
  assert.equal(planned(view).nextCheckAt, NOW + 1);
});

test('[ENI-1] a full instance gets no further ENI and says so', () => {
  const enis = [podEni(1, { addresses: addresses(10, 9) }), podEni(2, { addresses: addresses(30, 9) })];
  const view = settled(nodeView({ podEnis: enis, pods: pods(19) }));
  assert.deepEqual(planned(view).spec.intents, []);
  const condition = planned(view).conditions.find((one) => one.type === 'AddressesAvailable');
  assert.deepEqual([condition?.status, condition?.reason], ['False', 'InstanceFull']);
  assert.match(condition?.message ?? '', /m5\.large.*3 of 3 ENIs attached.*at most 20 pods/);
});

test('foreign ENIs count against the limit', () => {
  const foreign = podEni(2, { owned: false, eniConfig: '' });
  const enis = [podEni(1, { addresses: addresses(10, 9) }), foreign];
  assert.deepEqual(planned(settled(nodeView({ podEnis: enis, pods: pods(12) }))).spec.intents, []);
});

test('MAX_ENI counts the primary ENI too', () => {
  const view = nodeView({ pods: pods(3), settings: { ...settings, targets: { warmEni: 1, maxEni: 1 } } });
  assert.deepEqual(planned(view).spec.intents, []);
});

test('a full subnet draws no call; the condition names subnet, ENIConfig and CIDR', () => {
  for (const [free, room] of [
    [0, 0],
    [1, 0],
    [2, 1],
    [4, 3],
  ] as const) {
    const view = nodeView({ pods: pods(5), freeInPodSubnet: free });
    const wanted = planned(view).spec.intents[0]?.addressCount ?? 0;
    assert.equal(wanted, room, `${free} free addresses leave ${room} beside the ENI's own`);
    if (room > 0) continue;
    const condition = planned(view).conditions.find((one) => one.type === 'AddressesAvailable');
    assert.equal(condition?.reason, 'SubnetFull');
    assert.match(
      condition?.message ?? '',
      new RegExp(`${POD_SUBNET}.*"pods-a".*10\\.1\\.0\\.0/16.*${free} addresses free`),
    );
  }
});

test('every ENI of ours is told to go with its instance', () => {
  const eni = podEni(1, { addresses: addresses(10, 2) });
  const unprotected = { ...eni, attachment: { ...eni.attachment!, deleteOnTermination: false } };
  assert.deepEqual(verbs(settled(nodeView({ podEnis: [unprotected] }))), ['SetDeleteOnTermination']);
});

test('an excess is withdrawn only after it has lasted, from the emptiest ENI', () => {
  const enis = [podEni(1, { addresses: addresses(10, 9) }), podEni(2, { addresses: addresses(30, 4) })];
  const used = addresses(10, 2).map((ip, n) => ({ ip, pod: pods(2)[n]! }));
  const view = settled(published(nodeView({ podEnis: enis, pods: pods(2) }), { used }));
  assert.equal(planned(view).excessCount, 9, '13 held, 2 used, 2 warm');
  assert.deepEqual(specOf(view, 2)?.withdrawing, []);
  const lasted = { ...view, excessSince: NOW - settings.excessHoldMs };
  assert.deepEqual(specOf(lasted, 2)?.withdrawing, addresses(30, 4));
  assert.equal(specOf(lasted, 1)?.withdrawing.length, 5);
});

test('[IP-6] only what the agent has let go of is unassigned, and only while the published spec asks for it', () => {
  const enis = [podEni(1, { addresses: addresses(10, 9) })];
  const view = nodeView({ podEnis: enis, pods: pods(2), excessSince: 0 });
  const used = addresses(10, 2).map((ip, n) => ({ ip, pod: pods(2)[n]! }));
  const asking = settled(published(view, { used }));
  const asked = asking.published!.spec.enis.find((eni) => eni.eniId === eniId(1))!.withdrawing;
  assert.equal(asked.length, 5);
  assert.deepEqual(verbs(asking), [], 'not answered: nothing is unassigned');
  const answered = published(asking, { used, withdrawn: asked.slice(0, 2) }, asking.published!.spec);
  const action = planned(answered).actions[0];
  assert.deepEqual(action?.do === 'UnassignAddresses' && action.addresses, asked.slice(0, 2));
});

test('[WD-3] an address that EC2 gives again is not published while the agent lists the old grant as withdrawn', () => {
  const back = addresses(10, 1)[0]!;
  const enis = [podEni(1, { addresses: [back, ...addresses(20, 2)] })];
  const view = published(nodeView({ podEnis: enis }), { withdrawn: [back] }, planned(nodeView()).spec);
  assert.deepEqual(specOf(view, 1)?.addresses, addresses(20, 2));
  const forgotten = published(view, { withdrawn: [] }, view.published!.spec);
  assert.deepEqual(specOf(forgotten, 1)?.addresses, [back, ...addresses(20, 2)]);
});

test('demand takes back a withdrawal that is not answered yet, before anything is bought', () => {
  const enis = [podEni(1, { addresses: addresses(10, 9) })];
  const asking = settled(nodeView({ podEnis: enis, excessSince: 0 }));
  assert.equal(specOf(asking, 1)?.withdrawing.length, 7);
  const rush = { ...asking, pods: pods(6) };
  assert.equal(specOf(rush, 1)?.withdrawing.length, 1, '6 pods and 2 warm need 8 of the 9');
  assert.deepEqual(verbs(rush), []);
});

test('when the choice changes, old ENIs are cordoned, drained of what is unused, and given back once empty', () => {
  const enis = [podEni(1, { addresses: addresses(10, 3) })];
  const used = [{ ip: addresses(10, 1)[0]!, pod: pods(1)[0]! }];
  const before = settled(published(nodeView({ podEnis: enis, pods: pods(1) }), { used }));
  const changed = settled({ ...before, selection: inOtherSubnet });
  assert.equal(specOf(changed, 1)?.cordoned, true);
  assert.deepEqual(specOf(changed, 1)?.addresses, addresses(10, 3), 'the running pod keeps its address');
  assert.deepEqual(specOf(changed, 1)?.withdrawing, addresses(11, 2));
  assert.equal(planned({ ...before, selection: inOtherSubnet }).spec.intents[0]?.subnetId, OTHER_SUBNET);
  const emptied = settled({
    ...changed,
    pods: [],
    published: {
      spec: changed.published!.spec,
      status: { ...changed.published!.status, used: [], withdrawn: addresses(11, 2) },
    },
  });
  assert.ok(!verbs(emptied).includes('DetachEni'), 'the last address is not let go yet');
  const gone = published(emptied, { withdrawn: addresses(10, 3) }, emptied.published!.spec);
  assert.ok(verbs(gone).includes('DetachEni'));
});

test('[ENI-3] an ENI with a used or cooling address is not detached', () => {
  const enis = [podEni(1, { addresses: addresses(10, 2) })];
  for (const status of [
    { used: [{ ip: addresses(10, 1)[0]!, pod: pods(1)[0]! }] },
    { cooling: addresses(10, 1) },
  ]) {
    const view = settled(
      published(nodeView({ podEnis: enis, selection: inOtherSubnet }), {
        ...status,
        withdrawn: addresses(11, 1),
      }),
    );
    assert.ok(!verbs(view).includes('DetachEni'));
  }
});

test('cooling addresses do not count as available [IP-5]', () => {
  const enis = [podEni(1, { addresses: addresses(10, 4) })];
  const idle = { ...settings, targets: { warmIp: 0, warmEni: 0 } };
  const view = settled(
    published(nodeView({ podEnis: enis, pods: pods(1), settings: idle }), { cooling: addresses(10, 4) }),
  );
  const action = planned(view).actions[0];
  assert.deepEqual(action?.do === 'AssignAddresses' && action.count, 1);
});

test('nothing new is put on an ENI whose detach an earlier process may have asked for', () => {
  const leaving = podEni(1, { addresses: addresses(10, 3), maybeLeaving: true });
  const view = settled(
    published(
      nodeView({ podEnis: [leaving], pods: pods(2) }),
      { withdrawn: addresses(10, 3) },
      planned(nodeView()).spec,
    ),
  );
  assert.ok(!verbs(view).includes('AssignAddresses'));
  assert.equal(planned(view).spec.intents.length, 1, 'a further ENI serves the pods meanwhile');
});
