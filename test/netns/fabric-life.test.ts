// The life of a fabric: links that come late and are renamed, instances that go, what is removed, and by whose truth.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { createFabric, type Fabric, type FabricOptions } from '../../src/lab/fabric/fabric.ts';
import { calmEc2 } from '../../src/lab/ec2/ec2-profile.ts';
import { EGRESS_ALL } from '../../src/lab/ec2/security-group.ts';
import { createSimEc2 } from '../../src/lab/ec2/sim-ec2.ts';
import { M5_LARGE } from '../../src/domain/instance/testing.ts';
import { must } from '../../src/lab/ec2/testing.ts';
import { vpcTruthOf } from '../../src/lab/fabric/vpc-truth-of.ts';
import { seededRandom } from '../../src/lab/kernel/seeded-random.ts';
import {
  cidr,
  collectingLog,
  createProbe,
  eventually,
  fromCidr,
  handMadeVpc,
  inside,
  instanceId,
  ip,
  namespacesOf,
  newPrefix,
  okOf,
  promptFabric,
  skip,
  subnetId,
} from './fabric-support.ts';

const linkNames = (netnsPath: string): readonly string[] =>
  inside(netnsPath, 'ip', '-br', 'link')
    .split('\n')
    .flatMap((line) => /^(\S+?)@/.exec(line)?.[1] ?? []);

describe('a fabric that is made, changed and removed', { skip }, () => {
  const prefixes: string[] = [];
  const open: Fabric[] = [];
  const prefixed = (): string => {
    prefixes.push(newPrefix());
    return prefixes.at(-1) ?? '';
  };
  const makeFabric = (options: Pick<FabricOptions, 'truth'> & Partial<FabricOptions>): Fabric => {
    const fabric = createFabric({
      prefix: prefixed(),
      clock: systemClock,
      random: seededRandom(1),
      log: collectingLog(),
      ...options,
    });
    open.push(fabric);
    return fabric;
  };
  let linksBefore = '';
  before(() => {
    linksBefore = execFileSync('ip', ['-br', 'link'], { encoding: 'utf8' });
  });
  after(async () => {
    for (const fabric of open) await fabric.close();
  });

  test('a secondary link comes late, under a passing name, and gets its own later; one that is detached before never comes', async () => {
    const vpc = handMadeVpc();
    vpc.launch('a', { subnet: 'node-a', address: '10.1.0.10', groups: [] });
    const fabric = makeFabric({
      truth: vpc.truth,
      linkLife: { delayMinMs: 300, delayMaxMs: 300, renamedPercent: 100, renameDelayMs: 300 },
    });
    okOf(await fabric.start());
    const a = fabric.nodeNetnsPath(instanceId('a'));
    assert.deepEqual(linkNames(a), ['eth0']);
    vpc.putEni('late', { primaryAddress: ip('10.1.8.4') });
    vpc.putEni('never', { primaryAddress: ip('10.1.8.5') });
    vpc.attach('late', 'a', 1);
    vpc.attach('never', 'a', 2);
    okOf(await fabric.sync());
    assert.deepEqual(linkNames(a), ['eth0']);
    vpc.detach('never');
    okOf(await fabric.sync());
    await eventually('the link is there', () => linkNames(a).length === 2);
    assert.deepEqual(linkNames(a), ['eth0', 'renamed1']);
    await eventually('it has its name', () => linkNames(a).includes('eth1'));
    assert.deepEqual(linkNames(a), ['eth0', 'eth1']);
  });

  test('an instance that is terminated goes with its namespace, its links and its pods', async () => {
    const vpc = handMadeVpc();
    vpc.launch('a', { subnet: 'node-a', address: '10.1.0.10', groups: [] });
    vpc.launch('b', { subnet: 'node-a', address: '10.1.0.11', groups: [] });
    const prefix = prefixed();
    const fabric = makeFabric({ truth: vpc.truth, prefix, nodeName: (id) => `node-${id.slice(-2)}` });
    okOf(await fabric.start());
    const pod = okOf(await fabric.createPodNetns(instanceId('a'), 'default/web-0'));
    assert.equal(pod, `/run/netns/${prefix}-node-61-pod-default-web-0`);
    assert.match(inside(pod, 'ip', '-br', 'link'), /^lo +UNKNOWN/);
    vpc.terminate('a');
    vpc.change();
    await eventually('it is gone', () => namespacesOf(prefix).length === 4);
    assert.deepEqual(
      namespacesOf(prefix),
      ['internet', 'node-62', 'onprem', 'vpc-router'].map((name) => `${prefix}-${name}`),
    );
    const refused = await fabric.createPodNetns(instanceId('a'), 'default/web-1');
    assert.ok(!refused.ok && refused.error.kind === 'unknown-instance', 'no pod on a machine that is gone');
  });

  test('instances, subnets and ENIs may come and go together, in one change', async () => {
    const vpc = handMadeVpc();
    vpc.launch('a', { subnet: 'node-a', address: '10.1.0.10', groups: [] });
    const log = collectingLog();
    const fabric = promptFabric(vpc.truth, prefixed(), log);
    open.push(fabric);
    okOf(await fabric.start());
    vpc.terminate('a');
    for (let index = 0; index < 5; index++) {
      vpc.launch(`n${index}`, { subnet: 'node-b', address: `10.1.1.${20 + index}`, groups: [] });
      for (const device of [1, 2]) {
        const name = `n${index}-eth${device}`;
        vpc.putEni(name, {
          primaryAddress: ip(`10.1.9.${10 * index + device}`),
          subnetId: subnetId('pods-b'),
        });
        vpc.attach(name, `n${index}`, device);
      }
    }
    okOf(await fabric.sync());
    await eventually('all links are there', () =>
      [0, 1, 2, 3, 4].every((index) => linkNames(fabric.nodeNetnsPath(instanceId(`n${index}`))).length === 3),
    );
    assert.deepEqual(log.complaints, []);
  });

  test('what a crashed run left is removed by the next one of its prefix, and by no other', async () => {
    const vpc = handMadeVpc();
    const prefix = prefixed();
    const other = prefixed();
    for (const name of [`${prefix}-vpc-router`, `${prefix}-i-old`, `${other}-i-old`])
      execFileSync('ip', ['netns', 'add', name]);
    const fabric = makeFabric({ truth: vpc.truth, prefix });
    okOf(await fabric.start());
    assert.equal(namespacesOf(prefix).length, 3);
    assert.equal(namespacesOf(other).length, 1);
    execFileSync('ip', ['netns', 'del', `${other}-i-old`]);
  });

  test('closing leaves nothing, ends the metadata server, and may be repeated', async () => {
    const vpc = handMadeVpc();
    vpc.launch('a', { subnet: 'node-a', address: '10.1.0.10', groups: [] });
    const prefix = prefixed();
    const fabric = makeFabric({ truth: vpc.truth, prefix });
    okOf(await fabric.start());
    okOf(await fabric.createPodNetns(instanceId('a'), 'p'));
    vpc.putEni('late', {});
    vpc.attach('late', 'a', 1);
    vpc.change();
    okOf(await fabric.close());
    assert.deepEqual(namespacesOf(prefix), []);
    assert.equal(execFileSync('ip', ['-br', 'link'], { encoding: 'utf8' }), linksBefore);
    vpc.change();
    okOf(await fabric.sync());
    okOf(await fabric.close());
    assert.deepEqual(namespacesOf(prefix), []);
  });

  for (const prefix of ['', 'Lab', 'a-b', 'x'.repeat(17)]) {
    test(`the prefix "${prefix}" is refused`, async () => {
      const started = await makeFabric({ truth: handMadeVpc().truth, prefix }).start();
      assert.ok(!started.ok && started.error.kind === 'invalid', 'start says why');
    });
  }

  test('a change that cannot be made is reported, and made once it can be', async () => {
    const vpc = handMadeVpc();
    const log = collectingLog();
    vpc.launch('a', { subnet: 'node-a', address: '10.1.0.10', groups: [] });
    const fabric = promptFabric(vpc.truth, prefixed(), log);
    open.push(fabric);
    okOf(await fabric.start());
    const a = fabric.nodeNetnsPath(instanceId('a'));
    // Somebody took the name.
    inside(a, 'ip', 'link', 'add', 'eth1', 'type', 'bridge');
    vpc.putEni('second', {});
    vpc.attach('second', 'a', 1);
    okOf(await fabric.sync());
    await sleep(20);
    const failed = await fabric.sync();
    assert.ok(!failed.ok && failed.error.kind === 'command-failed');
    assert.match(failed.error.message, /peer name eth1.*File exists/s);
    inside(a, 'ip', 'link', 'del', 'eth1');
    okOf(await fabric.sync());
    assert.deepEqual(linkNames(a), ['eth0', 'eth1']);
  });

  test('the simulated EC2 moves it: what is launched, attached and assigned there can be reached here', async () => {
    const random = seededRandom(7);
    const ec2 = createSimEc2({
      clock: systemClock,
      random,
      profile: () => ({ ...calmEc2, attachMinMs: 50, attachMaxMs: 50 }),
    });
    const vpc = must(ec2.admin.createVpc({ cidrs: [cidr('10.7.0.0/16')] }));
    const subnet = must(ec2.admin.createSubnet({ vpcId: vpc.vpcId, zone: 'z', cidr: cidr('10.7.0.0/24') }));
    const group = must(
      ec2.admin.createSecurityGroup({
        vpcId: vpc.vpcId,
        name: 'open',
        ingress: [fromCidr('0.0.0.0/0')],
        egress: EGRESS_ALL,
      }),
    );
    ec2.admin.setInstanceLimits([M5_LARGE]);
    const fabric = makeFabric({ truth: vpcTruthOf(ec2, vpc.vpcId) });
    okOf(await fabric.start());
    const launch = () =>
      must(
        ec2.admin.launchInstance({
          instanceType: 'm5.large',
          subnetId: subnet.subnetId,
          securityGroupIds: [group.securityGroupId],
        }),
      );
    const [a, b] = [launch(), launch()];
    okOf(await fabric.sync());
    const probe = createProbe();
    const at = fabric.nodeNetnsPath(b.instanceId);
    await probe.serve([at], 80);
    const seen = await probe.visit(
      { netnsPath: fabric.nodeNetnsPath(a.instanceId) },
      { address: b.primaryAddress, port: 80 },
    );
    assert.equal(seen, a.primaryAddress);
    must(
      ec2.admin.createForeignEni({
        subnetId: subnet.subnetId,
        instanceId: b.instanceId,
        secondaryAddressCount: 2,
      }),
    );
    await eventually('the attached ENI shows up', () => linkNames(at).length === 2);
    await probe.sockets.close();
  });

  test('of all these fabrics nothing is left', async () => {
    for (const fabric of open) okOf(await fabric.close());
    assert.deepEqual(prefixes.flatMap(namespacesOf), []);
  });
});
