// Crashes, restarts and reboots: what the agent remembers, repairs, and never guesses.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addRequest, addressIn, errorIn, servingWorld, STATUS_GAP_MS, type World } from './testing-world.ts';

const podLinks = (world: World): readonly string[] =>
  world.host.host.links.filter(({ kind }) => kind === 'veth').map(({ name }) => name);
const podRoutes = (world: World): readonly string[] =>
  world.host.host.routes.filter(({ table }) => table === 1000).map(({ destination }) => destination);
const held = (world: World): readonly string[] =>
  world
    .agent()
    .describe()
    .allocations.flatMap(({ addresses }) => addresses)
    .toSorted();

async function restart(world: World, tear = false): Promise<void> {
  world.crash(tear);
  await world.start();
  await world.wait(2000);
}

const loseJournal = (world: World): Promise<unknown> =>
  world.run(world.journal.open(world.kernel.clock('disk')).rewrite([]));

describe('after a restart', () => {
  test('pods keep their addresses, and no other pod gets them [IP-1] [U28]', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('a');
    await restart(world);
    assert.deepEqual(held(world), ['10.1.0.4']);
    assert.equal(addressIn(await world.add('b')), '10.1.0.5/32');
  });

  test('ADD is not served before journal, NodeNetwork and kernel have been read [RST-1]', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('a');
    world.crash();
    world.refuse = (step) => (step === 'listPodLinks' ? { step, message: 'no' } : undefined);
    await world.start();
    await world.wait(2000);
    assert.match(errorIn(await world.add('b')).text, /are being compared with the journal/);
    assert.equal(errorIn(await world.cni({ command: 'GC', validAttachments: [] })).code, 11);
    assert.deepEqual(held(world), ['10.1.0.4']);
    world.refuse = () => undefined;
    await world.wait(2000);
    assert.equal(addressIn(await world.add('b')), '10.1.0.5/32');
  });

  test('[CNI-2] an ADD that came before the journal was read takes away what its pod had before', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('old', 'a');
    world.crash();
    world.host.reboot();
    await world.start();
    assert.equal(addressIn(await world.add('new', 'a')), '10.1.0.5/32');
    assert.deepEqual(held(world), ['10.1.0.5']);
    await world.wait(1000);
    assert.deepEqual(podRoutes(world), ['10.1.0.5/32']);
    assert.deepEqual(world.status()?.cooling, ['10.1.0.4']);
  });

  test('nor does it get the sandbox of another pod', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('s', 'a');
    world.crash();
    await world.start();
    assert.match(errorIn(await world.add('s', 'b')).text, /is pod shop\/a's/);
  });

  test('a pod whose link is gone keeps its address until the runtime says DEL [RST-1]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a');
    world.crash();
    world.host.removeNamespace('/run/netns/a');
    await world.start();
    await world.wait(2000);
    assert.deepEqual(held(world), ['10.1.0.4']);
    assert.equal((await world.del('a')).kind, 'Done');
    assert.deepEqual(held(world), []);
  });

  test('or, if the runtime has given its DEL up, for two minutes: the namespace is gone [U32]', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('a');
    await world.add('b');
    world.crash();
    world.host.removeNamespace('/run/netns/a');
    await world.start();
    await world.wait(119_000);
    assert.deepEqual(held(world), ['10.1.0.4', '10.1.0.5']);
    await world.wait(41_000);
    assert.deepEqual(held(world), ['10.1.0.5']);
    assert.deepEqual(world.status()?.cooling, ['10.1.0.4']);
  });

  test('a look at the links that fails proves no pod gone [RST-1]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a');
    world.host.removeNamespace('/run/netns/a');
    world.refuse = (step) => (step === 'listLinks' ? { step, message: 'no' } : undefined);
    await world.wait(600_000);
    assert.deepEqual(held(world), ['10.1.0.4']);
  });

  test('a link that the journal does not know is taken down, if others are known', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('a');
    await world.add('b');
    const records = world.journal
      .records()
      .filter((record) => record.type !== 'Allocated' || record.allocation.pod !== 'shop/b');
    world.crash();
    await world.run(world.journal.open(world.kernel.clock('disk')).rewrite(records));
    await world.start();
    await world.wait(2000);
    assert.deepEqual(podRoutes(world), ['10.1.0.4/32']);
    assert.equal(podLinks(world).length, 1);
  });

  test('a reboot takes the links and leaves the journal: the pods come back with other addresses', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('old', 'cart-0');
    world.crash(true);
    world.host.reboot();
    await world.start();
    await world.wait(2000);
    assert.equal(addressIn(await world.add('new', 'cart-0')), '10.1.0.5/32');
    assert.deepEqual(podRoutes(world), ['10.1.0.5/32']);
  });

  test('a spec from a stale cache is refused: what it grants may be the controller’s again [IP-6]', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5'], { addWaitMs: 100 });
    const spec = world.journal.records().findLast((record) => record.type === 'SpecSeen');
    assert.ok(spec?.type === 'SpecSeen');
    const newer = { ...spec, spec: { ...spec.spec, generation: spec.spec.generation + 1 } };
    world.crash();
    await world.run(world.journal.open(world.kernel.clock('disk')).append([newer]));
    await world.start();
    await world.wait(2000);
    assert.ok(world.marks.has('stale-spec-refused'));
    assert.equal(errorIn(await world.add('a')).code, 11);
    await world.publish({ enis: [{ addresses: ['10.1.0.4', '10.1.0.5', '10.1.0.6'] }] });
    assert.match(addressIn(await world.add('a')), /^10\.1\.0\.4/);
  });
});

describe('when the API server cannot be reached at the start', () => {
  test('[RST-2] running pods stay, DEL works, and ADD serves what was granted before', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('a');
    world.crash();
    world.takeApiDown(600_000);
    await world.start();
    await world.wait(5000);
    assert.ok(world.marks.has('started-offline'));
    assert.deepEqual(podRoutes(world), ['10.1.0.4/32']);
    assert.equal(addressIn(await world.add('b')), '10.1.0.5/32');
    assert.equal((await world.del('a')).kind, 'Done');
    assert.deepEqual(podRoutes(world), ['10.1.0.5/32']);
  });

  test('what was let go is not handed out again [IP-6] [WD-1]', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5'], { addWaitMs: 100 });
    await world.publish({ enis: [{ addresses: ['10.1.0.4', '10.1.0.5'], withdrawing: ['10.1.0.4'] }] });
    await world.wait(2000);
    assert.deepEqual(world.status()?.withdrawn, ['10.1.0.4']);
    world.crash();
    world.takeApiDown(600_000);
    await world.start();
    await world.wait(5000);
    assert.equal(addressIn(await world.add('a')), '10.1.0.5/32');
    assert.equal(errorIn(await world.add('b')).code, 11);
  });

  test('an API server that answers in time is waited for', async () => {
    const world = await servingWorld(['10.1.0.4']);
    world.crash();
    await world.start();
    await world.wait(2000);
    assert.ok(!world.marks.has('started-offline'));
    assert.equal(addressIn(await world.add('a')), '10.1.0.4/32');
  });
});

describe('a pod whose link went with its namespace, and whose DEL never came', () => {
  test('[RST-3] holds its address for some looks, and then no longer', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a');
    for (const path of world.host.namespaces.keys()) world.host.removeNamespace(path);
    await world.wait(60_000);
    assert.deepEqual(held(world), ['10.1.0.4'], 'a link that is missing once or twice proves little');
    await world.wait(240_000);
    assert.deepEqual(held(world), []);
    assert.ok(world.marks.has('linkless-released'));
  });

  test('[RST-3] holds it for as long as no look succeeds', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a');
    for (const path of world.host.namespaces.keys()) world.host.removeNamespace(path);
    world.refuse = (step) => (step === 'listLinks' ? { step, message: 'refused' } : undefined);
    await world.wait(600_000);
    assert.deepEqual(held(world), ['10.1.0.4']);
  });
});

describe('when the journal is lost while pods run', () => {
  test('their addresses are kept from others, through another restart too [U28] [RST-1]', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5', '10.1.0.6']);
    await world.add('a');
    await world.add('b');
    world.crash();
    await loseJournal(world);
    await world.start();
    await world.wait(2000);
    assert.ok(world.marks.has('pod-adopted'));
    await restart(world);
    assert.deepEqual(held(world), ['10.1.0.4', '10.1.0.5']);
    assert.equal(podLinks(world).length, 2);
    assert.equal(addressIn(await world.add('c')), '10.1.0.6/32');
  });

  test('a DEL finds its pod by the host link', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a');
    world.crash();
    await loseJournal(world);
    await world.start();
    await world.wait(2000);
    assert.equal((await world.del('a')).kind, 'Done');
    assert.deepEqual([held(world), podLinks(world)], [[], []]);
    await world.wait(STATUS_GAP_MS);
    assert.deepEqual(world.status()?.cooling, ['10.1.0.4']);
  });

  test('a pod that has ended meanwhile is found out by its missing link; GC takes none that runs', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a');
    world.crash();
    await loseJournal(world);
    await world.start();
    await world.wait(2000);
    await world.cni({ command: 'GC', validAttachments: [] });
    assert.deepEqual(held(world), ['10.1.0.4'], 'it runs: its sandbox is only not known by name');
    world.host.removeNamespace('/run/netns/a');
    await world.wait(200_000);
    assert.deepEqual(held(world), []);
  });
});

describe('a crash in the middle of ADD', () => {
  // Virtual milliseconds after the request: inside the journal's write, then between the steps of the wiring.
  for (const [afterMs, tear] of [0, 1, 2, 3, 4].flatMap((ms) => [
    [ms, false] as const,
    [ms, true] as const,
  ])) {
    test(`${afterMs} ms in, ${tear ? 'with the power' : 'of the process'}: DEL leaves nothing, or ADD again completes it [CNI-1]`, async () => {
      for (const next of ['DEL', 'ADD'] as const) {
        const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
        void world.agent().handleCni(addRequest(world.host, 'a', 'a'));
        await world.wait(afterMs);
        world.crash(tear);
        await world.start();
        await world.wait(2000);
        const reply = next === 'ADD' ? await world.add('a') : await world.del('a');
        if (next === 'ADD') {
          assert.match(addressIn(reply), /^10\.1\.0\.[45]\/32$/);
          assert.deepEqual(podRoutes(world), [addressIn(reply)]);
        } else {
          assert.equal(reply.kind, 'Done');
          assert.deepEqual([podLinks(world), podRoutes(world), held(world)], [[], [], []]);
        }
      }
    });
  }
});

describe('GC', () => {
  test('takes down every pod that the runtime does not list, and keeps the others [CNI-3]', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5', '10.1.0.6']);
    for (const pod of ['a', 'b', 'c']) await world.add(pod);
    const reply = await world.cni({
      command: 'GC',
      validAttachments: [{ containerId: 'b', ifName: 'eth0' }],
    });
    assert.equal(reply.kind, 'Done');
    assert.deepEqual(podRoutes(world), ['10.1.0.5/32']);
    await world.wait(1000);
    assert.deepEqual(world.status()?.cooling, ['10.1.0.4', '10.1.0.6']);
  });

  test('goes on after a failure, and names it', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    for (const pod of ['a', 'b']) await world.add(pod);
    let refusalCount = 0;
    world.refuse = (step) => {
      if (step !== 'removeVeth' || refusalCount > 0) return undefined;
      refusalCount += 1;
      return { step: 'delete link', errno: 'EBUSY', message: 'busy' };
    };
    const { code, text } = errorIn(await world.cni({ command: 'GC', validAttachments: [] }));
    assert.equal(code, 999);
    assert.match(text, /shop\/a: delete link: EBUSY: busy/);
    assert.deepEqual(held(world), ['10.1.0.4']);
  });

  test('leaves links that are not ours alone, though they bear our prefix [CNI-3]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    world.host.edit((host) => {
      host.links.push({
        index: 99,
        name: 'eniforeign',
        mac: '02:00:00:00:09:09',
        up: true,
        mtu: 9001,
        kind: 'veth',
        addresses: [],
      });
    });
    await world.cni({ command: 'GC', validAttachments: [] });
    assert.deepEqual(podLinks(world), ['eniforeign']);
  });
});

describe('CHECK', () => {
  const check = async (
    world: World,
    change: (world: World) => void,
  ): Promise<ReturnType<typeof errorIn> | 'fine'> => {
    const added = await world.add('a');
    assert.ok(added.kind === 'Result');
    change(world);
    const reply = await world.cni({
      command: 'CHECK',
      sandbox: { containerId: 'a', ifName: 'eth0' },
      netnsPath: '/run/netns/a',
      prevResult: added.result,
    });
    return reply.kind === 'Done' ? 'fine' : errorIn(reply);
  };

  test('finds a pod as ADD left it', async () => {
    assert.equal(await check(await servingWorld(['10.1.0.4']), () => {}), 'fine');
  });

  test('names what differs', async () => {
    const world = await servingWorld(['10.1.0.4']);
    const verdict = await check(world, ({ host }) =>
      host.edit((node) => {
        node.routes = node.routes.filter(({ table }) => table !== 1000);
      }),
    );
    assert.ok(verdict !== 'fine');
    assert.equal(verdict.code, 100);
    assert.match(verdict.text, /10\.1\.0\.4/);
  });

  test('of a sandbox that the agent does not know fails', async () => {
    const world = await servingWorld(['10.1.0.4']);
    const reply = await world.cni({
      command: 'CHECK',
      sandbox: { containerId: 'a', ifName: 'eth0' },
      netnsPath: '/run/netns/a',
      prevResult: { interfaces: [], ips: [], routes: [] },
    });
    assert.match(errorIn(reply).text, /no allocation/);
  });
});

test("what other programs do to the host's routes and rules is repaired within a second [U18]", async () => {
  const world = await servingWorld(['10.1.0.4']);
  const rules = structuredClone(world.host.host.rules);
  world.host.edit((host) => {
    host.rules = [];
    host.nftTables.clear();
  });
  await world.wait(1000);
  assert.deepEqual(world.host.host.rules, rules);
  assert.deepEqual([...world.host.host.nftTables.keys()], ['eniwhere']);
});

describe('what another program takes from a running pod', () => {
  test('[CNI-1] its route and its link are put back; nothing is put back for a pod that is gone', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('a');
    await world.add('b');
    await world.del('b');
    world.host.edit((host) => {
      host.routes = host.routes.filter((route) => route.destination !== '10.1.0.4/32');
      for (const link of host.links) if (link.name.startsWith('eni')) link.up = false;
    });
    await world.wait(1000);
    assert.deepEqual(podRoutes(world), ['10.1.0.4/32']);
    const links = world.host.host.links.filter(({ name }) => podLinks(world).includes(name));
    assert.ok(links.length > 0 && links.every((link) => link.up));
    assert.ok(world.marks.has('pod-repaired'));
  });
});
