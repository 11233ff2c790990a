// Services on a node of ours: kube-proxy's rules replayed, each way of a request, the address the far end sees, and the way of the reply.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { iptablesMode, nftablesMode, type ReplayedService, SERVICE_PORT } from './datapath-kube-proxy.ts';
import {
  FAR_PORT,
  INTERNET,
  makeNodeWorld,
  NODE,
  type NodeWorld,
  NOTHING_DROPPED,
  ON_PREMISES,
  OTHER_POD,
  type Place,
  POD,
  POD_ON_PRIMARY,
  POD_PORT,
  SECONDARY_ENI,
  VPC_HOST,
  whyNoIptables,
} from './datapath-support.ts';
import { skip, type TestNamespace } from './linux-support.ts';

/** A service whose endpoint is `address`; its ClusterIP and its node port follow from the number. */
const service = (
  number: number,
  policy: ReplayedService['policy'],
  endpoint: ReplayedService['endpoint'],
): ReplayedService => ({
  id: 'ABCDEFG'.charAt(number),
  clusterIp: `10.100.0.${number}`,
  nodePort: 30_000 + number,
  endpoint,
  policy,
});
const toPod = service(1, 'Cluster', { address: POD, port: POD_PORT });
const toPodLocal = service(2, 'Local', { address: POD, port: POD_PORT });
const toPrimaryPod = service(3, 'Cluster', { address: POD_ON_PRIMARY, port: POD_PORT });
const toPrimaryPodLocal = service(4, 'Local', { address: POD_ON_PRIMARY, port: POD_PORT });
const toVpcHost = service(5, 'Cluster', { address: VPC_HOST, port: FAR_PORT });
const toInternet = service(6, 'Cluster', { address: INTERNET, port: FAR_PORT });
const services = [toPod, toPodLocal, toPrimaryPod, toPrimaryPodLocal, toVpcHost, toInternet];

interface Mode {
  readonly title: string;
  readonly skip: string | false;
  readonly write: (node: TestNamespace) => void;
}

const modes: readonly Mode[] = [
  {
    title: 'kube-proxy in nftables mode',
    skip,
    write: (node) => {
      node.nft(nftablesMode(services, NODE));
    },
  },
  {
    title: 'kube-proxy in iptables mode',
    skip: skip === false ? whyNoIptables() : skip,
    write: (node) => {
      execFileSync('nsenter', [`--net=${node.path}`, 'iptables-restore', '--noflush'], {
        input: iptablesMode(services),
        stdio: ['pipe', 'pipe', 'pipe'],
      });
    },
  },
];

interface Visit {
  readonly title: string;
  readonly from: 'pod' | 'other pod' | 'primary pod' | 'node' | 'on premises' | 'VPC host' | 'internet';
  readonly to: readonly [address: string, port: number];
  /** The source that the endpoint sees. */
  readonly seenAs: string;
}

const clusterIp = ({ clusterIp }: ReplayedService): readonly [string, number] => [clusterIp, SERVICE_PORT];
const nodePort = ({ nodePort: port }: ReplayedService): readonly [string, number] => [NODE, port];

const visits: readonly Visit[] = [
  { title: 'pod to ClusterIP, endpoint in the VPC', from: 'pod', to: clusterIp(toVpcHost), seenAs: POD },
  {
    title: 'pod to ClusterIP, endpoint on the internet',
    from: 'pod',
    to: clusterIp(toInternet),
    seenAs: NODE,
  },
  {
    title: 'pod to ClusterIP, endpoint on the node',
    from: 'other pod',
    to: clusterIp(toPod),
    seenAs: OTHER_POD,
  },
  { title: 'pod to ClusterIP, endpoint itself', from: 'pod', to: clusterIp(toPod), seenAs: NODE },
  {
    title: 'pod to ClusterIP, endpoint on the primary ENI',
    from: 'pod',
    to: clusterIp(toPrimaryPod),
    seenAs: POD,
  },
  {
    title: 'pod on the primary ENI to ClusterIP, endpoint in the VPC',
    from: 'primary pod',
    to: clusterIp(toVpcHost),
    seenAs: POD_ON_PRIMARY,
  },
  { title: 'pod to a node port of its node', from: 'pod', to: nodePort(toPrimaryPod), seenAs: NODE },
  { title: 'pod to its own node port', from: 'pod', to: nodePort(toPod), seenAs: NODE },
  {
    // Masqueraded, and leaves by the ENI that its pod's address chose: with that ENI's own address, as EC2 wants it.
    title: 'pod to a node port, endpoint in the VPC',
    from: 'pod',
    to: nodePort(toVpcHost),
    seenAs: SECONDARY_ENI,
  },
  { title: 'node to ClusterIP, endpoint a pod', from: 'node', to: clusterIp(toPod), seenAs: NODE },
  { title: 'node to ClusterIP, endpoint in the VPC', from: 'node', to: clusterIp(toVpcHost), seenAs: NODE },
  { title: 'node to its node port', from: 'node', to: nodePort(toPod), seenAs: NODE },
  {
    title: 'outside to a node port, masqueraded',
    from: 'on premises',
    to: nodePort(toPod),
    seenAs: NODE,
  },
  {
    title: 'outside to a node port, policy Local',
    from: 'on premises',
    to: nodePort(toPodLocal),
    seenAs: ON_PREMISES,
  },
  {
    title: 'internet to a node port, policy Local',
    from: 'internet',
    to: nodePort(toPodLocal),
    seenAs: INTERNET,
  },
  { title: 'VPC to a node port, policy Local', from: 'VPC host', to: nodePort(toPodLocal), seenAs: VPC_HOST },
  {
    title: 'outside to a node port, policy Local, pod on the primary ENI',
    from: 'on premises',
    to: nodePort(toPrimaryPodLocal),
    seenAs: ON_PREMISES,
  },
  {
    title: 'outside to a node port, endpoint in the VPC',
    from: 'on premises',
    to: nodePort(toVpcHost),
    seenAs: NODE,
  },
  { title: 'outside to the pod itself', from: 'on premises', to: [POD, POD_PORT], seenAs: ON_PREMISES },
  { title: 'VPC to the pod itself', from: 'VPC host', to: [POD, POD_PORT], seenAs: VPC_HOST },
  { title: 'node to the pod itself', from: 'node', to: [POD, POD_PORT], seenAs: NODE },
  { title: 'pod to pod on the node', from: 'pod', to: [OTHER_POD, POD_PORT], seenAs: POD },
  { title: 'pod to the VPC', from: 'pod', to: [VPC_HOST, FAR_PORT], seenAs: POD },
  { title: 'pod to the internet', from: 'pod', to: [INTERNET, FAR_PORT], seenAs: NODE },
];

/** With external SNAT, pods keep their addresses wherever they call; all else is as above. */
const externalSnatSources: Readonly<Record<string, string>> = {
  'pod to ClusterIP, endpoint on the internet': POD,
  'pod to the internet': POD,
};

const settings: readonly {
  readonly title: string;
  readonly externalSnat: boolean;
  readonly sources: Readonly<Record<string, string>>;
}[] = [
  { title: 'SNAT on the node', externalSnat: false, sources: {} },
  { title: 'external SNAT', externalSnat: true, sources: externalSnatSources },
];

for (const mode of modes) {
  describe(mode.title, { skip: mode.skip }, () => {
    let world: NodeWorld;
    let places: Readonly<Record<Visit['from'], Place>>;

    before(async () => {
      world = await makeNodeWorld();
      mode.write(world.node);
      await world.apply();
      places = {
        pod: await world.addPod('pod', [POD]),
        'other pod': await world.addPod('other', [OTHER_POD]),
        'primary pod': await world.addPod('primary', [POD_ON_PRIMARY]),
        node: { namespace: world.node },
        'on premises': world.far(ON_PREMISES),
        'VPC host': world.far(VPC_HOST),
        internet: world.far(INTERNET),
      };
    });
    after(() => world.close());

    for (const { title: how, externalSnat, sources } of settings) {
      describe(how, () => {
        before(async () => {
          await world.apply({ settings: { externalSnat } });
          world.dropped();
        });
        for (const { title, from, to, seenAs } of visits) {
          it(`${title}: seen as ${sources[title] ?? seenAs}`, async () => {
            assert.equal(await world.visit(places[from], ...to), sources[title] ?? seenAs);
            assert.deepEqual(world.dropped(), NOTHING_DROPPED);
          });
        }
      });
    }

    it('the VPC of this test does drop a foreign source, and a reply that comes back another way', async () => {
      world.node.run('ip', 'rule', 'del', 'prio', '1536', 'fwmark', '0x2/0x7f');
      assert.equal(await world.visit(places['on premises'], POD, POD_PORT), 'ETIMEDOUT');
      const { foreign_source: foreign = 0 } = world.dropped();
      assert.ok(foreign > 0, 'the pod’s reply left by the primary ENI and was dropped');
      await world.apply();
      assert.equal(await world.visit(places['on premises'], POD, POD_PORT), ON_PREMISES);
    });
  });
}
