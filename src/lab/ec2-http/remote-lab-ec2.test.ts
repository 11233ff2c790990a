// The lab's channel to an EC2 elsewhere: what the hand does shows in the truth, and so does what others do.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../ports/clock.ts';
import { calmEc2 } from '../ec2/ec2-profile.ts';
import type { Ec2Change } from '../ec2/region.ts';
import { createSimEc2, type SimEc2 } from '../ec2/sim-ec2.ts';
import { createSmallAccount, must, type SmallAccount } from '../ec2/testing.ts';
import type { LabEc2 } from '../ec2/lab-ec2.ts';
import { createKernel } from '../kernel/kernel.ts';
import { openRemoteLabEc2 } from './remote-lab-ec2.ts';
import { serveEc2Http } from './serve-ec2-http.ts';

interface Ends extends SmallAccount {
  readonly sim: SimEc2;
  readonly remote: LabEc2;
  readonly url: string;
  endServer(): Promise<void>;
}

async function withRemote(work: (ends: Ends) => Promise<void>): Promise<void> {
  const kernel = createKernel({ seed: 1 });
  const clock: Clock = kernel.clock('world');
  const sim = createSimEc2({ clock, random: kernel.random, profile: () => calmEc2 });
  const account = createSmallAccount(sim);
  const client = sim.client();
  const server = await serveEc2Http({ ec2: client, truth: sim.truth, lab: sim });
  const remote = await openRemoteLabEc2({ url: server.url, client: () => client });
  try {
    await work({ ...account, sim, remote, url: server.url, endServer: () => server.close() });
  } finally {
    await remote.close();
    await server.close().catch(() => undefined);
  }
}

test('what was there is seen, and what the hand does is seen once it is answered', () =>
  withRemote(async ({ sim, remote, subnetId, securityGroupId, instanceId, vpcId }) => {
    assert.deepEqual(remote.truth.instance(instanceId), sim.truth.instance(instanceId));
    const { instanceId: second } = must(
      await remote.hand.launchInstance({
        instanceType: 'm5.large',
        subnetId,
        securityGroupIds: [securityGroupId],
      }),
    );
    assert.deepEqual(remote.truth.enisOf(second), sim.truth.enisOf(second));
    const address = remote.truth.instance(second)?.primaryAddress;
    assert.ok(address !== undefined);
    assert.equal(remote.truth.eniHolding(vpcId, address)?.attachment?.instanceId, second);
    assert.equal(must(await remote.hand.occupyAddresses(subnetId, 5)), 5);
    assert.deepEqual(remote.truth.subnet(subnetId), sim.truth.subnet(subnetId));
  }));

test("EC2's refusals come in its own words, and calls that answer nothing answer nothing", () =>
  withRemote(async ({ sim, remote }) => {
    const refused = await remote.hand.launchInstance({
      instanceType: 'x9.huge',
      subnetId: 'subnet-00000000' as SmallAccount['subnetId'],
      securityGroupIds: [],
    });
    assert.equal(refused.ok ? '' : refused.error.code, 'InvalidParameterValue');
    assert.equal(await remote.hand.denyAction('DescribeVpcs'), undefined);
    sim.admin.allowAction('DescribeVpcs');
  }));

test('changes are told in their order, each once', () =>
  withRemote(async ({ sim, remote, subnetId, instanceId }) => {
    const told: Ec2Change[] = [];
    const direct: Ec2Change[] = [];
    remote.onChange((change) => told.push(change));
    sim.onChange((change) => direct.push(change));
    const eni = must(sim.admin.createForeignEni({ subnetId, instanceId }));
    must(await remote.hand.assignAddresses(eni.eniId, 2));
    must(sim.admin.deleteEni(eni.eniId));
    await remote.hand.vacateAddresses(subnetId, 0);
    assert.ok(direct.length > 4);
    assert.deepEqual(told, JSON.parse(JSON.stringify(direct)));
  }));

test('a call that the hand does not have is refused, and so is nonsense', () =>
  withRemote(async ({ url }) => {
    const post = async (body: string): Promise<string> => {
      const answer = await fetch(`${url}/lab/hand`, { method: 'POST', body });
      assert.equal(answer.status, 400);
      return answer.text();
    };
    assert.match(
      await post('{"call":"constructor","request":[]}'),
      /no call "constructor"; it has createVpc/,
    );
    assert.match(await post('nonsense'), /cannot be made/);
  }));

test('when the other process ends, calls fail and say so', () =>
  withRemote(async ({ remote, subnetId, endServer }) => {
    await endServer();
    await assert.rejects(remote.hand.occupyAddresses(subnetId, 1));
  }));
