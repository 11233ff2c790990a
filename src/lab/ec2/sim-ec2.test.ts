import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import type { Cidr } from '../../domain/address/ip.ts';
import { createKernel } from '../kernel/kernel.ts';
import { calmEc2 } from './ec2-profile.ts';
import { createSimEc2 } from './sim-ec2.ts';

const drain = (): Promise<void> => macrotask();

test('an ENI is made, attached after a while, and seen so', async () => {
  const kernel = createKernel({ seed: 1 });
  const ec2 = createSimEc2({
    clock: kernel.clock('ec2'),
    random: kernel.random.fork('ec2'),
    profile: () => calmEc2,
  });
  const vpc = ec2.admin.createVpc({ cidrs: ['10.0.0.0/16' as Cidr] });
  assert.ok(vpc.ok);
  const subnet = ec2.admin.createSubnet({ vpcId: vpc.value.vpcId, zone: 'a', cidr: '10.0.0.0/24' as Cidr });
  assert.ok(subnet.ok);
  ec2.admin.setInstanceLimits([
    {
      instanceType: 'm5.large',
      eniMax: 3,
      ipv4PerEniMax: 10,
      ipv6PerEniMax: 10,
      networkCardCount: 1,
      hypervisor: 'nitro',
      vcpuCount: 2,
    },
  ]);
  const instance = ec2.admin.launchInstance({
    instanceType: 'm5.large',
    subnetId: subnet.value.subnetId,
    securityGroupIds: [],
  });
  assert.ok(instance.ok);
  const client = ec2.client();
  const seen: string[] = [];
  ec2.onAttachment((change) => seen.push(change.status));
  const work = (async () => {
    const eni = await client.createNetworkInterface({
      clientToken: 't',
      subnetId: subnet.value.subnetId,
      securityGroupIds: [],
      secondaryAddressCount: 9,
      description: '',
      tags: {},
    });
    assert.ok(eni.kind === 'ok');
    return client.attachNetworkInterface({
      eniId: eni.value.eniId,
      instanceId: instance.value.instanceId,
      deviceIndex: 1,
      networkCardIndex: 0,
    });
  })();
  await kernel.run({ untilMs: kernel.now() + 10_000, drain });
  assert.equal((await work).kind, 'ok');
  assert.deepEqual(seen, ['attaching', 'attached']);
  assert.deepEqual(ec2.truth.brokenRules(), []);
});
