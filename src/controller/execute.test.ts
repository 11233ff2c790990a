// What the controller believes of EC2 after a call whose outcome it does not know.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ip } from '../domain/address/ip.ts';
import { createEc2World, eniRequest } from '../lab/ec2/testing.ts';
import type { Ec2Eni, Ec2Outcome } from '../ports/ec2.ts';
import { value } from '../ports/ec2-world.contract.ts';
import { createBudget } from './budget.ts';
import { createEc2View, recordSighted } from './ec2-view.ts';
import { BELIEF_MS } from './eni-belief.ts';
import { execute } from './execute.ts';
import { createNodeMemory } from './node-memory.ts';

test('[WD-3] what an unassign without an answer may have taken is not believed back by a describe from before it', async () => {
  const world = createEc2World();
  const client = world.ec2;
  const clock = world.kernel.clock('controller');
  const before = value(
    await world.run(() => client.createNetworkInterface(eniRequest(world, { secondaryAddressCount: 3 }))),
  );
  const [gone, ...staying] = before.addresses;
  assert.ok(gone !== undefined);
  const view = createEc2View(clock.now());
  recordSighted(view, [before], clock.now());
  const unanswered = async (request: {
    eniId: Ec2Eni['eniId'];
    addresses: readonly Ip[];
  }): Promise<Ec2Outcome<void>> => {
    assert.equal((await client.unassignPrivateIpAddresses(request)).kind, 'ok');
    return { kind: 'unknown', cause: 'the connection was reset' };
  };
  const executed = await world.run(() =>
    execute(
      {
        ec2: { ...client, unassignPrivateIpAddresses: unanswered },
        view,
        budget: createBudget({ clock, onTurn: () => undefined }),
        clock,
        clusterName: 'cluster',
      },
      {
        do: 'UnassignAddresses',
        eniId: before.eniId,
        addresses: [gone],
        because: 'the agent has let go of it',
      },
      { instanceId: world.instanceId, name: 'n1', memory: createNodeMemory(), priority: 'Release' },
    ),
  );
  assert.equal(executed.kind, 'unknown');
  const believed = (): readonly Ip[] | undefined => view.enis.get(before.eniId)?.eni.addresses;
  recordSighted(view, [before], clock.now());
  assert.deepEqual(believed(), staying, 'the describe may be from before');
  recordSighted(view, [before], clock.now() + BELIEF_MS + 1);
  assert.deepEqual(believed(), before.addresses, 'it never happened: staleness cannot explain this one');
});
