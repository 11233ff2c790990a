// A connection's way: chosen once, kept for its life whatever changes meanwhile, and the node's own answers by the ENI that was asked.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { cidr, ip } from '../../src/domain/address/testing.ts';
import {
  FAR_PORT,
  IMDS,
  IMDS_PORT,
  makeNodeWorld,
  NODE,
  type NodeOptions,
  type NodeWorld,
  NOTHING_DROPPED,
  ON_PREMISES,
  type Place,
  POD,
  POD_PORT,
  type PodPlace,
  SECONDARY_ENI,
  VPC_HOST,
} from './datapath-support.ts';
import { skip, valueOf } from './linux-support.ts';

const VPC_CIDRS = ['10.0.0.0/16', '100.64.0.0/16'].map(cidr);
const ON_PREMISES_EXCLUDED: NodeOptions = {
  settings: { directCidrs: [...VPC_CIDRS, cidr('192.168.0.0/16')] },
};
const EXTERNAL_SNAT: NodeOptions = { settings: { externalSnat: true } };
const NODE_PORT = 9200;
const TIMEOUT_MS = 400;

describe('a connection [DP-2]', { skip }, () => {
  let world: NodeWorld;
  let pod: PodPlace;

  before(async () => {
    world = await makeNodeWorld();
    await world.apply();
    pod = await world.addPod('pod', [POD]);
    valueOf(await world.sockets.serve({ netnsPath: world.node.path, port: NODE_PORT }));
  });
  beforeEach(() => {
    world.dropped();
  });
  after(() => world.close());

  const connect = async (from: Place, address: string, port: number) =>
    valueOf(
      await world.sockets.connect({
        netnsPath: from.namespace.path,
        address: ip(address),
        port,
        timeoutMs: TIMEOUT_MS,
        ...(from.source === undefined ? {} : { source: ip(from.source) }),
      }),
    );

  const changes: readonly {
    readonly title: string;
    readonly first: NodeOptions;
    readonly seenAs: string;
    readonly later: NodeOptions;
    readonly laterSeenAs: string;
  }[] = [
    {
      title: 'translated, outlives that its destination is excluded',
      first: {},
      seenAs: NODE,
      later: ON_PREMISES_EXCLUDED,
      laterSeenAs: POD,
    },
    {
      title: 'translated, outlives external SNAT',
      first: {},
      seenAs: NODE,
      later: EXTERNAL_SNAT,
      laterSeenAs: POD,
    },
    {
      title: 'with the pod’s address, outlives that its destination is no longer excluded',
      first: ON_PREMISES_EXCLUDED,
      seenAs: POD,
      later: {},
      laterSeenAs: NODE,
    },
    {
      title: 'with the pod’s address, outlives the end of external SNAT',
      first: EXTERNAL_SNAT,
      seenAs: POD,
      later: {},
      laterSeenAs: NODE,
    },
  ];
  for (const { title, first, seenAs, later, laterSeenAs } of changes) {
    it(`${title}; a new one is seen as ${laterSeenAs}`, async () => {
      await world.apply(first);
      const connection = await connect(pod, ON_PREMISES, FAR_PORT);
      assert.equal(connection.seenAs, seenAs);
      await world.apply(later);
      valueOf(await connection.ping());
      assert.equal(await world.visit(pod, ON_PREMISES, FAR_PORT), laterSeenAs);
      valueOf(await connection.ping());
      await connection.close();
      assert.deepEqual(world.dropped(), NOTHING_DROPPED);
    });
  }

  it('from outside to a pod outlives that our table is deleted and written anew', async () => {
    await world.apply({});
    const connection = await connect(world.far(ON_PREMISES), POD, POD_PORT);
    world.node.run('nft', 'delete', 'table', 'inet', 'eniwhere');
    await world.apply({});
    valueOf(await connection.ping());
    await connection.close();
    assert.deepEqual(world.dropped(), NOTHING_DROPPED);
  });

  it('to instance metadata ends when the pod may no longer reach it [DP-3]', async () => {
    await world.apply({ imdsAllowed: [ip(POD)] });
    const connection = await connect(pod, IMDS, IMDS_PORT);
    valueOf(await connection.ping());
    await world.apply({});
    assert.notEqual((await connection.ping()).kind, 'ok');
    await connection.close();
  });

  const answers: readonly { readonly from: string; readonly to: string }[] = [
    { from: ON_PREMISES, to: SECONDARY_ENI },
    { from: VPC_HOST, to: SECONDARY_ENI },
    { from: ON_PREMISES, to: NODE },
    { from: VPC_HOST, to: NODE },
  ];
  for (const { from, to } of answers) {
    it(`from ${from} to a process of the node at ${to} is answered by the ENI that has the address`, async () => {
      await world.apply({});
      assert.equal(await world.visit(world.far(from), to, NODE_PORT), from);
      assert.deepEqual(world.dropped(), NOTHING_DROPPED);
    });
  }

  it('from a pod to a process of the node is answered to the pod', async () => {
    await world.apply({});
    assert.equal(await world.visit(pod, NODE, NODE_PORT), POD);
    assert.equal(await world.visit(pod, SECONDARY_ENI, NODE_PORT), POD);
    assert.deepEqual(world.dropped(), NOTHING_DROPPED);
  });
});
