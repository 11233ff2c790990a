// Security groups that a person has changed: in place where pods may live, anew where none can.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SecurityGroupId } from '../ids.ts';
import type { Action } from './action.ts';
import type { NodeView, Obstacle } from './node-view.ts';
import { plan } from './plan.ts';
import {
  addresses,
  eniId,
  inOtherSubnet,
  inPodSubnet,
  NOW,
  nodeView,
  noSelection,
  PODS_GROUP,
  podEni,
  pods,
  published,
  settings,
  settled,
  unattached,
} from './testing.ts';

const OTHER_GROUP = 'sg-0000000000000000c' as SecurityGroupId;
const regrouped = { ...inPodSubnet, securityGroupIds: [OTHER_GROUP] };

const actions = (view: NodeView): readonly Action[] => plan(view)?.actions ?? [];
const verbs = (view: NodeView): readonly Action['do'][] => actions(view).map((action) => action.do);

suite('[ENI-7] when the groups of the selection change', () => {
  const before = settled(published(nodeView({ podEnis: [podEni(1, { addresses: addresses(10, 3) })] })));
  const changed: NodeView = { ...before, selection: regrouped };

  test('an attached ENI gets them in place, and goes on taking pods', () => {
    assert.deepEqual(verbs(before), []);
    assert.deepEqual(actions(changed), [
      {
        do: 'SetSecurityGroups',
        eniId: eniId(1),
        securityGroupIds: [OTHER_GROUP],
        because: `${eniId(1)} has ${PODS_GROUP}, and ENIConfig "pods-a" now has ${OTHER_GROUP}`,
      },
    ]);
    assert.equal(plan(changed)?.spec.enis.find((eni) => !eni.primary)?.cordoned, false);
  });

  test('addresses for waiting pods go first', () => {
    const [first, ...rest] = verbs({ ...changed, pods: pods(8) });
    assert.deepEqual([first, rest], ['AssignAddresses', ['SetSecurityGroups']]);
  });

  test('an ENI that is not attached yet is made anew instead', () => {
    const view = nodeView({ podEnis: [unattached(podEni(1))], pods: pods(1) });
    assert.deepEqual(verbs({ ...view, selection: regrouped }), ['DeleteEni']);
  });

  test('an ENI of another selection, and any while the selection fails, keeps what it has', () => {
    const elsewhere = { ...inOtherSubnet, securityGroupIds: [OTHER_GROUP] };
    for (const selection of [elsewhere, noSelection])
      assert.ok(!verbs({ ...before, selection }).includes('SetSecurityGroups'));
    const keep = {
      ...before,
      selection: elsewhere,
      settings: { ...settings, onEniConfigChange: 'Keep' as const },
    };
    assert.ok(!verbs(keep).includes('SetSecurityGroups'));
  });

  test('what EC2 refused is not repeated for a while, and holds up nothing else', () => {
    const obstacle: Obstacle = {
      code: 'Unauthorized',
      of: 'Attribute',
      message: 'no',
      fix: 'allow it',
      until: NOW + 1,
    };
    assert.deepEqual(verbs({ ...changed, obstacles: [obstacle] }), []);
    assert.deepEqual(verbs({ ...changed, obstacles: [obstacle], pods: pods(8) }), ['AssignAddresses']);
    assert.deepEqual(verbs({ ...changed, obstacles: [{ ...obstacle, until: NOW }] }), ['SetSecurityGroups']);
  });
});
