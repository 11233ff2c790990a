// Pods that choose their own ENIConfig, and those that an address has and the node does not.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cidr, ip } from '../address/testing.ts';
import type { EniId, SecurityGroupId, SubnetId } from '../ids.ts';
import { explainNode } from './explain-node.ts';
import { explainPod } from './explain-pod.ts';
import type { Picture, PicturePod } from './picture.ts';
import { eni, eniConfig, network, NODE_SUBNET, picture, pod, subnet } from './testing.ts';

const OTHER = 'subnet-0000000c' as SubnetId;
const other = subnet({ subnetId: OTHER, cidr: cidr('100.65.0.0/24') });
const asks = (name: string, eniConfigName: string) =>
  pod(name, { annotations: { 'eniwhere.io/eni-config': eniConfigName } });

/** Node n1 with pod web in its own pool; `asked` chose ENIConfig "tenant", `wrong` one that is not there. */
function tenants(freeAddressCount: number): Picture {
  const own = network();
  const [primary] = own.spec.enis;
  assert.ok(primary !== undefined);
  const chosen = eni({
    eniId: 'eni-00000003' as EniId,
    deviceIndex: 2,
    eniConfig: 'tenant',
    subnetId: OTHER,
    subnetCidr: cidr('100.65.0.0/24'),
    primaryAddress: ip('100.65.0.4'),
    addresses: [ip('100.65.0.5')],
    chosenOnly: true,
  });
  return picture({
    subnets: [subnet(), { ...other, freeAddressCount }],
    eniConfigs: [eniConfig(), eniConfig({ name: 'tenant', subnetId: OTHER })],
    pods: [pod('web'), asks('asked', 'tenant'), asks('late', 'tenant'), asks('wrong', 'nowhere')],
    networks: [
      {
        ...own,
        spec: {
          ...own.spec,
          enis: [primary, eni({}), chosen],
          choosing: {
            namespaces: [],
            pods: [
              { kind: 'EniConfig', pod: pod('asked').key, uid: '1', eniConfig: 'tenant' },
              { kind: 'EniConfig', pod: pod('late').key, uid: '2', eniConfig: 'tenant' },
              {
                kind: 'Refused',
                pod: pod('wrong').key,
                uid: '3',
                reason: 'EniConfigNotFound',
                message: 'it asks for ENIConfig "nowhere", which does not exist',
              },
            ],
          },
        },
        status: {
          ...own.status,
          used: [...own.status.used, { ip: ip('100.65.0.5'), pod: pod('asked').key }],
        },
      },
    ],
  });
}

suite('explain a pod that chooses', () => {
  test('U102 one that got what it asked for: its own ENIConfig, ENI and subnet', () => {
    const found = explainPod(tenants(200), 'shop/asked');
    assert.deepEqual(found.choice, { eniConfig: 'tenant' });
    assert.equal(found.eni?.subnet, OTHER);
    assert.deepEqual(found.missing, []);
  });

  test('U102 one whose ENIConfig is refused waits for that reason, not for the node', () => {
    const found = explainPod(tenants(200), 'shop/wrong');
    assert.deepEqual(found.missing, ['it asks for ENIConfig "nowhere", which does not exist']);
    assert.match(found.state, /waits for an address on node n1/);
  });

  test('U102 one whose subnet is full is named on the node, whose own pool is in order', () => {
    const node = explainNode(tenants(0), 'n1');
    assert.deepEqual(node.addresses?.waiting, ['shop/late', 'shop/wrong']);
    assert.equal(node.addresses?.freeCount, 3);
    assert.match(node.missing.join('\n'), /subnet subnet-0000000c of ENIConfig "tenant" .* is full/);
  });

  test('U102 while there is room, the next step brings the pod its address', () => {
    const { next } = explainNode(tenants(200), 'n1');
    assert.match(next.join('\n'), /assign addresses, because 1 pods wait for an address/);
  });
});

function unbound(bound: PicturePod): PicturePod {
  const { nodeName: _, ...rest } = bound;
  return rest;
}

suite('explain a pod', () => {
  test("on the host's network, finished, or not bound yet: it needs nothing of the node", () => {
    const states = [
      pod('host', { hostNetwork: true }),
      pod('done', { finished: true }),
      unbound(pod('free')),
    ];
    const found = states.map((one) => explainPod(picture({ pods: [one] }), one.key));
    assert.deepEqual(
      found.map(({ missing }) => missing),
      [[], [], []],
    );
    assert.match(found[0]?.state ?? '', /host's network/);
    assert.match(found[1]?.state ?? '', /holds no address any more/);
    assert.match(found[2]?.state ?? '', /not bound to a node yet/);
  });

  test('U37 a pod under a SecurityGroupPolicy waits for a branch ENI that no node offers, and is told what to do instead', () => {
    const { nodeName: _, ...unbound } = pod('db', { asksBranchEni: true });
    const [said] = explainPod(picture({ pods: [unbound] }), unbound.key).missing;
    assert.match(said ?? '', /asks for vpc\.amazonaws\.com\/pod-eni, .* and no node offers it/);
    assert.match(said ?? '', /annotate the pod with eniwhere\.io\/eni-config=NAME/);
  });

  test('U09 a pod keeps the address of an ENI that takes no new pods, and that is said', () => {
    const own = network();
    const [primary] = own.spec.enis;
    assert.ok(primary !== undefined);
    const networks = [{ ...own, spec: { ...own.spec, enis: [primary, eni({ cordoned: true })] } }];
    const found = explainPod(picture({ networks }), 'shop/web');
    assert.match(
      found.next.join(),
      /keeps 100\.64\.0\.5 as long as it lives; its ENI eni-00000002 takes no new pods/,
    );
  });
});

suite('explain a node while EC2 cannot be asked', () => {
  const refused = 'EC2 refuses: UnauthorizedOperation: DescribeSubnets';

  test('U52 an ENIConfig of which nothing is known selects nothing, never the node subnet', () => {
    const { selection } = explainNode(picture({ ec2: refused }), 'n1');
    assert.ok(selection?.kind === 'None');
    assert.equal(selection.problem, 'EniConfigUnresolved');
  });

  test('the subnet of a node without custom networking is not called full for want of an answer', () => {
    const own = network({
      selection: {
        kind: 'NodeSubnet',
        subnetId: NODE_SUBNET,
        securityGroupIds: ['sg-00000001' as SecurityGroupId],
        source: 'CustomNetworkingOff',
        reason: 'test',
      },
    });
    const [primary] = own.spec.enis;
    assert.ok(primary !== undefined);
    const networks = [
      { ...own, spec: { ...own.spec, enis: [primary] }, status: { ...own.status, used: [] } },
    ];
    const { settings } = picture();
    const off = { ...settings, selection: { ...settings.selection, customNetworking: false } };
    const { missing, next } = explainNode(
      picture({ ec2: refused, eniConfigs: [], networks, settings: off }),
      'n1',
    );
    assert.doesNotMatch(missing.join(), /is full/);
    assert.match(next.join(), /create an ENI with 4 addresses in subnet-0000000a/);
  });

  test("the controller's own status of the ENIConfig is enough, without any credentials", () => {
    const status = {
      ready: true,
      message: '',
      zone: 'eu-west-1a',
      cidr: '100.64.0.0/24',
      freeAddressCount: 9,
    };
    const eniConfigs = [{ ...eniConfig(), status }];
    const { selection, missing } = explainNode(picture({ ec2: refused, eniConfigs }), 'n1');
    assert.ok(selection?.kind === 'EniConfig');
    assert.equal(selection.name, 'eu-west-1a');
    assert.deepEqual(missing, []);
  });
});
