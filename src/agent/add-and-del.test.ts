// CNI ADD and DEL on a node in memory.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  addRequest,
  addressIn,
  COOLDOWN_MS,
  createWorld,
  errorIn,
  servingWorld,
  type World,
} from './testing-world.ts';

const usedIn = (world: World): readonly string[] => world.status()?.used.map(({ ip }) => ip) ?? [];
const podLinks = (world: World): readonly string[] =>
  world.host.host.links.filter(({ kind }) => kind === 'veth').map(({ name }) => name);
const podRoutes = (world: World): readonly string[] =>
  world.host.host.routes.filter(({ table }) => table === 1000).map(({ destination }) => destination);

describe('ADD', () => {
  test('gives an address, wires the pod, and says so in the status [CNI-1]', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    const reply = await world.add('a');
    assert.equal(addressIn(reply), '10.1.0.4/32');
    assert.ok(reply.kind === 'Result');
    assert.deepEqual(reply.result.interfaces[1]?.sandbox, '/run/netns/a');
    assert.deepEqual(reply.result.routes, [{ dst: '0.0.0.0/0', gw: '169.254.1.1' }]);
    assert.deepEqual(podRoutes(world), ['10.1.0.4/32']);
    assert.equal(podLinks(world)[0], reply.result.interfaces[0]?.name);
    assert.deepEqual(usedIn(world), [], 'the status is not on the path of ADD');
    await world.wait(1000);
    assert.deepEqual(world.status()?.used, [{ ip: '10.1.0.4', pod: 'shop/a' }]);
  });

  test('is durable before it is answered: an agent that crashes right after remembers it [CNI-1]', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('a');
    world.crash(true);
    await world.start();
    await world.wait(1000);
    assert.equal(addressIn(await world.add('b')), '10.1.0.5/32');
  });

  test('twice for a sandbox gives the same answer twice [CNI-2]', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    const first = await world.add('a');
    assert.deepEqual(await world.add('a'), first);
    assert.deepEqual(podRoutes(world), ['10.1.0.4/32']);
  });

  test('again, while the kernel does not let the pod be inspected, leaves a pod that runs alone [CNI-2]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    const first = await world.add('a');
    world.refuse = (step) =>
      step === 'inspectPod' || step === 'wirePodSide' ? { step, message: 'no' } : undefined;
    assert.equal(errorIn(await world.add('a')).code, 11);
    assert.deepEqual(podRoutes(world), ['10.1.0.4/32']);
    world.refuse = () => undefined;
    assert.deepEqual(await world.add('a'), first);
  });

  test('of many pods at once gives each its own address [IP-1]', async () => {
    const addresses = Array.from({ length: 20 }, (_, n) => `10.1.0.${n + 4}`);
    const world = await servingWorld(addresses);
    const replies = await Promise.all(addresses.map((_, n) => world.add(`p${n}`)));
    assert.equal(new Set(replies.map(addressIn)).size, 20);
  });

  test('of pods that wait gives each its own address, first come first served, once there are any [IP-1]', async () => {
    const world = await servingWorld([]);
    const agent = world.agent();
    const replies = ['a', 'b', 'c'].map((pod) => agent.handleCni(addRequest(world.host, pod, pod)));
    await world.wait(2000);
    assert.equal(agent.describe().waitingAddCount, 3);
    await world.publish({ enis: [{ addresses: ['10.1.0.4', '10.1.0.5'] }] });
    assert.deepEqual(addressIn(await world.run(replies[0]!)), '10.1.0.4/32');
    assert.deepEqual(addressIn(await world.run(replies[1]!)), '10.1.0.5/32');
    assert.equal(errorIn(await world.run(replies[2]!)).code, 11);
  });

  test('without an address waits, then says where addresses would come from and try again later', async () => {
    const world = await servingWorld([], { addWaitMs: 5000 });
    const before = world.kernel.now();
    const { code, text } = errorIn(await world.add('a'));
    assert.equal(code, 11);
    assert.equal(world.kernel.now() - before, 5000);
    assert.equal(
      text,
      'no address for pod shop/a on node n0: none of the 1 ENIs has an address for pods yet; ' +
        'new ones come from ENIConfig "blue" (subnet subnet-0000000b)',
    );
  });

  test('waits for a released address no shorter than its cooldown [IP-5]', async () => {
    const world = await servingWorld(['10.1.0.4'], { addWaitMs: 120_000 });
    await world.add('a');
    await world.del('a');
    const released = world.kernel.now();
    assert.equal(addressIn(await world.add('b')), '10.1.0.4/32');
    const restedMs = world.kernel.now() - released;
    assert.ok(restedMs >= COOLDOWN_MS && restedMs < COOLDOWN_MS + 1000, `${restedMs} ms`);
  });

  test('gives an address that the spec has on two ENIs only by the one by which the host leads it [IP-7]', async () => {
    const old = { deviceIndex: 1, addresses: ['10.1.0.4'], cordoned: true };
    const world = await servingWorld([]);
    await world.publish({ enis: [old, { deviceIndex: 2, addresses: ['10.1.0.4', '10.1.0.5'] }] });
    assert.equal(addressIn(await world.add('a')), '10.1.0.5/32');
    await world.publish({
      enis: [
        { ...old, addresses: [] },
        { deviceIndex: 2, addresses: ['10.1.0.4', '10.1.0.5'] },
      ],
    });
    assert.equal(addressIn(await world.add('b')), '10.1.0.4/32');
  });

  test('that waits is ended by the DEL of its sandbox, at once', async () => {
    const world = await servingWorld([]);
    const add = world.agent().handleCni(addRequest(world.host, 'a', 'a'));
    await world.wait(100);
    const before = world.kernel.now();
    assert.equal((await world.del('a')).kind, 'Done');
    assert.match(errorIn(await add).text, /given the pod up/);
    assert.equal(world.kernel.now(), before);
  });

  test('that cannot be wired names the step and leaves nothing behind [CNI-1]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    world.refuse = (step) =>
      step === 'wirePodSide' ? { step: 'add address', errno: 'ENOBUFS', message: 'no buffers' } : undefined;
    const { code, text } = errorIn(await world.add('a'));
    assert.equal(code, 999);
    assert.equal(text, 'pod shop/a could not be wired: add address: ENOBUFS: no buffers');
    assert.deepEqual([podLinks(world), podRoutes(world)], [[], []]);
    await world.wait(1000);
    assert.deepEqual([world.status()?.used, world.status()?.cooling], [[], ['10.1.0.4']]);
  });

  test('that can be neither wired nor undone keeps the address held: it may be in use [IP-1]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    world.refuse = (step) =>
      step === 'wireHostSide' || step === 'removeVeth' ? { step, message: 'no' } : undefined;
    assert.match(errorIn(await world.add('a')).text, /the address stays held/);
    world.refuse = () => undefined;
    assert.equal(errorIn(await world.add('b')).code, 11);
    await world.del('a');
    await world.wait(1000);
    assert.deepEqual(world.status()?.cooling, ['10.1.0.4']);
  });

  test('of a new sandbox of the same pod first removes what the old one left [U33]', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('old', 'cart-0');
    assert.equal(addressIn(await world.add('new', 'cart-0')), '10.1.0.5/32');
    assert.deepEqual(podRoutes(world), ['10.1.0.5/32']);
    await world.wait(1000);
    assert.deepEqual(world.status()?.cooling, ['10.1.0.4']);
    assert.equal((await world.del('old', 'cart-0')).kind, 'Done');
    assert.deepEqual(podRoutes(world), ['10.1.0.5/32'], 'the late DEL of the old sandbox takes nothing');
  });

  test('of a second interface of the same pod is refused', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    const first = addRequest(world.host, 'a', 'a');
    await world.cni(first);
    assert.ok(first.command === 'ADD');
    const second = await world.cni({ ...first, sandbox: { containerId: 'a', ifName: 'net1' } });
    assert.deepEqual(errorIn(second).code, 7);
  });

  test('gets no address of an ENI whose link has not appeared, and gets one as soon as it has', async () => {
    const world = await createWorld();
    world.host.unplugLink('02:00:00:00:00:01');
    await world.start();
    await world.publish({ enis: [{ addresses: ['10.1.0.4'] }] });
    const add = world.agent().handleCni(addRequest(world.host, 'a', 'a'));
    await world.wait(3000);
    assert.deepEqual(world.agent().describe().pendingEnis, ['eni-00000001']);
    assert.ok(world.marks.has('eni-link-pending'));
    world.host.plugLink('02:00:00:00:00:01');
    assert.equal(addressIn(await world.run(add)), '10.1.0.4/32');
  });

  test('gets no address that the host does not route, and says why', async () => {
    const world = await createWorld({ addWaitMs: 100 });
    await world.start();
    await world.publish({ enis: [{ addresses: ['10.1.0.4'] }] });
    world.refuse = (step) => (step === 'applyHost' ? { step: 'nft', message: 'no' } : undefined);
    await world.publish({ enis: [{ addresses: ['10.1.0.5'] }] });
    assert.match(errorIn(await world.add('a')).text, /1 on ENIs that are still coming up/);
    assert.deepEqual(
      world.status()?.conditions.map(({ type, status, reason }) => [type, status, reason]),
      [['AgentReady', 'False', 'HostNotApplied']],
    );
  });

  test('fails while the journal cannot be written, takes nothing, and works again when it can', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    world.journal.refuse({ message: 'ENOSPC: no space left on device' });
    const { code, text } = errorIn(await world.add('a'));
    assert.equal(code, 11);
    assert.match(text, /ENOSPC/);
    assert.deepEqual(podLinks(world), []);
    world.journal.refuse(undefined);
    assert.equal(addressIn(await world.add('a')), '10.1.0.5/32', 'the first one rests');
    assert.ok(world.marks.has('journal-repaired'));
    world.crash();
    await world.start();
    await world.wait(1000);
    assert.deepEqual(
      world
        .agent()
        .describe()
        .allocations.map(({ addresses }) => addresses),
      [['10.1.0.5']],
    );
  });
});

describe('DEL', () => {
  test('takes the pod down, and its address rests; again, it does nothing [CNI-2]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a');
    assert.equal((await world.del('a')).kind, 'Done');
    assert.deepEqual([podLinks(world), podRoutes(world)], [[], []]);
    assert.equal((await world.del('a')).kind, 'Done');
    await world.wait(1000);
    assert.deepEqual(world.status()?.cooling, ['10.1.0.4']);
    await world.wait(COOLDOWN_MS);
    assert.deepEqual(world.status()?.cooling, [], 'the end of the cooldown is told');
  });

  test('of a sandbox that was never added succeeds [CNI-2]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    assert.equal((await world.del('never')).kind, 'Done');
  });

  test('when the namespace is gone already succeeds [CNI-2]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a');
    world.host.removeNamespace('/run/netns/a');
    assert.equal((await world.del('a')).kind, 'Done');
  });

  test('that the kernel refuses fails, keeps the address held, and succeeds when repeated', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a');
    world.refuse = (step) =>
      step === 'removeVeth' ? { step: 'delete link', errno: 'EBUSY', message: 'busy' } : undefined;
    assert.deepEqual(errorIn(await world.del('a')), {
      code: 999,
      text: 'pod shop/a is not taken down yet: delete link: EBUSY: busy',
    });
    await world.wait(1000);
    assert.deepEqual(usedIn(world), ['10.1.0.4']);
    world.refuse = () => undefined;
    assert.equal((await world.del('a')).kind, 'Done');
  });

  test('while the agent is starting asks to come again: it may hold an address for it [RST-1]', async () => {
    const world = await createWorld();
    await world.start();
    assert.equal(
      errorIn(
        await world.agent().handleCni({ command: 'DEL', sandbox: { containerId: 'a', ifName: 'eth0' } }),
      ).code,
      11,
    );
  });

  test('works without a NodeNetwork, from the journal alone', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a');
    await world.deleteObject();
    world.crash();
    await world.start();
    await world.wait(1000);
    assert.equal((await world.del('a')).kind, 'Done');
    assert.deepEqual(podLinks(world), []);
  });
});

describe('a pod that cannot be served', () => {
  test('without an address gets an Event that says why, and what happens next', async () => {
    const world = await servingWorld(['10.1.0.4'], { addWaitMs: 100 });
    await world.add('a');
    await world.add('b');
    await world.add('b');
    await world.wait(100);
    const events = world.events();
    assert.equal(events.length, 1, 'equal Events are one');
    assert.match(
      events[0] ?? '',
      /^b AddressNotReady: .*used by pods.*ENIConfig "blue".*tries again by itself/,
    );
  });

  test('for want of a link gets an Event that names the step', async () => {
    const world = await servingWorld(['10.1.0.4']);
    world.refuse = (step) =>
      step === 'addVeth' ? { step, errno: 'ENOBUFS', message: 'no buffers' } : undefined;
    await world.add('a');
    await world.wait(100);
    assert.match(world.events()[0] ?? '', /^a PodNotWired: .*addVeth: ENOBUFS.*agent on node n0/);
  });
});

describe('one container id under two pod names, which only a broken runtime asks for', () => {
  test('is refused until a DEL has come', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('c1', 'a');
    assert.match(
      errorIn(await world.add('c1', 'b')).text,
      /another pod's sandbox: container c1 is pod shop\/a's/,
    );
    await world.del('c1', 'b');
    assert.equal((await world.add('c1', 'b')).kind, 'Result');
  });
});
