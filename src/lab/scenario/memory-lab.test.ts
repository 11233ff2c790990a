// Scenarios played in memory: what the whole system does, and what the report says of it.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { knownLimits } from '../../domain/instance/instance-types.ts';
import { maxPods } from '../../domain/instance/max-pods.ts';
import type { Log } from '../../ports/log.ts';
import { openMemoryLab } from './open-lab.ts';
import { parseScenario, showMistakes } from './parse-scenario.ts';
import { plain, renderEvent } from './report.ts';
import { runTimeline } from './run-timeline.ts';

const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, mark: () => {} };

const world = (more: string, node = ''): string => `name: story
vpc:
  id: vpc-0123456789abcdef0
  cidr: 10.0.0.0/16
  subnets:
    - { id: subnet-00000000000000001, name: nodes, zone: eu-west-1a, cidr: 10.0.0.0/24 }
    - { id: subnet-00000000000000002, name: pods, zone: eu-west-1a, cidr: 10.0.16.0/20 }
  securityGroups:
    - { id: sg-00000000000000001, name: all, ingress: [] }
settings: { AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: true, WARM_IP_TARGET: 1, IP_COOLDOWN_PERIOD: 1 }
nodes:
  - { name: n1, type: m5.large, subnet: nodes, securityGroups: [all]${node} }
  - { name: n2, type: m5.large, subnet: nodes, securityGroups: [all], launch: ByStep }
eniConfigs:
  - { apiVersion: crd.k8s.amazonaws.com/v1alpha1, kind: ENIConfig, metadata: { name: eu-west-1a }, spec: { subnet: subnet-00000000000000002, securityGroups: [sg-00000000000000001] } }
${more}`;

/** Pods on pods' addresses: max pods but for the two that every node has on the host's network. */
function podsFor(instanceType: string): number {
  const limits = knownLimits(instanceType);
  assert.ok(limits !== undefined);
  return maxPods({ limits, customNetworking: true, prefix: false }).maxPods - 2;
}

interface Played {
  readonly text: string;
  readonly brokenCount: number;
}

async function play(text: string): Promise<Played> {
  const scenario = parseScenario(text);
  assert.ok(scenario.ok, scenario.ok ? '' : showMistakes('story.yaml', scenario.error));
  const open = await openMemoryLab(scenario.value, {
    seed: 1,
    log: quiet,
    labLog: quiet,
    why: 'a test',
    drain: () => setImmediate(),
  });
  let told = '';
  const { counts } = await open.drive(
    runTimeline(open.lab, (event) => {
      told += renderEvent(event, plain);
    }),
  );
  await open.drive(open.lab.close());
  return { text: told, brokenCount: counts.Broken };
}

suite('a scenario in memory', () => {
  const stories: readonly [string, string][] = [
    [
      'EC2 meets the troubles that the file asks for, and pods run all the same',
      world(`ec2Faults: ['CreateNetworkInterface:drop-answer:times=1', '*:delay=100']
steps:
  - createPods: { node: n1, pods: [web] }
  - { expect: it runs after the time-out, within: 30s, running: { pods: [web] } }
  - { expect: one ENI was made, enis: { node: n1, count: 1 } }
  - ec2Faults: ['AssignPrivateIpAddresses:error=UnauthorizedOperation']
  - createPods: { node: n1, prefix: more, count: 3 }
  - { expect: the refusal is told, condition: { node: n1, type: AddressesAvailable, status: 'False', says: [Unauthorized] } }
  - ec2Faults: []
  - { expect: then they run, within: 90s, running: { pods: [more-*] } }
`),
    ],
    [
      'a node launched by a step joins, and a pod on it runs',
      world(`steps:
  - launchNode: n2
  - createPods: { node: n2, pods: [kube-system/dns] }
  - { expect: it runs, running: { pods: [kube-system/dns], subnet: pods, deviceIndex: 1 } }`),
    ],
    [
      'pods that run when their agent restarts keep their addresses, and later pods get theirs',
      world(`steps:
  - createPods: { node: n1, prefix: web, count: 3 }
  - { expect: they run, running: { pods: [web-*] } }
  - restartAgent: n1
  - { expect: they still run, holdsFor: 5s, running: { pods: [web-*] } }
  - createPods: { node: n1, pods: [late] }
  - { expect: the next one runs, running: { pods: [late] } }`),
    ],
    [
      'a subnet whose blocks are all fragmented gives single addresses as before',
      world(`steps:
  - fragmentSubnet: { subnet: pods }
  - createPods: { node: n1, prefix: web, count: 12 }
  - { expect: they run, within: 1m, running: { pods: [web-*], subnet: pods, families: [IPv4] } }`),
    ],
    [
      'mode Prefix in a subnet that is broken up: single addresses, and blocks again once there are some',
      world(`steps:
  - createPods: { node: n1, prefix: web, count: 20 }
  - { expect: they run on blocks, within: 1m, addresses: { node: n1, held: 48, used: 20, prefixes: 3 } }
  - fragmentSubnet: { subnet: pods }
  - launchNode: n2
  - createPods: { node: n2, prefix: late, count: 12 }
  - { expect: they run on single addresses, within: 1m, running: { pods: [late-*], subnet: pods } }
  - { expect: without any block, addresses: { node: n2, used: 12, prefixes: 0 } }
  - { expect: the node says why, condition: { node: n2, type: PrefixesAvailable, status: 'False', says: [InsufficientCidrBlocks] } }
  - defragmentSubnet: { subnet: pods }
  - deletePods: [late-1, late-2, late-3]
  - createPods: { node: n2, prefix: more, count: 3 }
  - { expect: blocks are asked for again, within: 4m, condition: { node: n2, type: PrefixesAvailable, status: 'True' } }
  - deletePods: [late-*, more-*]
  - { expect: what is left is a block, within: 5m, addresses: { node: n2, held: 16, used: 0, prefixes: 1 } }`).replace(
        'WARM_IP_TARGET: 1',
        'ENABLE_PREFIX_DELEGATION: true',
      ),
    ],
    [
      '[PFX-5] a subnet all but twelve of whose addresses are reserved for prefixes gives blocks, whatever its free count says',
      world(`steps:
  - createPods: { node: n1, prefix: web, count: 40 }
  - { expect: they run on blocks, within: 1m, addresses: { node: n1, held: 64, used: 40, prefixes: 4 } }
  - { expect: none is amiss, condition: { node: n1, type: PrefixesAvailable, status: 'True' } }
  - { expect: all of them, running: { pods: [web-*] } }
  - launchNode: n2
  - createPods: { node: n2, prefix: more, count: 20 }
  - { expect: a further node too, within: 1m, addresses: { node: n2, held: 48, used: 20, prefixes: 3 } }`)
        .replace('WARM_IP_TARGET: 1', 'ENABLE_PREFIX_DELEGATION: true')
        .replace(
          'cidr: 10.0.16.0/20',
          'cidr: 10.0.16.0/24, prefixReservations: [10.0.16.16/28, 10.0.16.32/27, 10.0.16.64/26, 10.0.16.128/25]',
        ),
    ],
    [
      'deleted pods give their addresses back, and a pod may come back under its name',
      world(`steps:
  - createPods: { node: n1, prefix: web, count: 3 }
  - { expect: they run, running: { pods: [web-*] } }
  - deletePods: [web-*]
  - { expect: they are gone, gone: { pods: [web-1, web-2, web-3] } }
  - { expect: only the warm pool is left, within: 2m, addresses: { node: n1, held: 1, used: 0 } }
  - createPods: { node: n1, pods: [web-1] }
  - { expect: it runs again, running: { pods: [web-1] } }`),
    ],
    [
      'a full instance: the pod beyond its capacity waits, and an Event names the instance',
      world(`steps:
  - createPods: { node: n1, prefix: web, count: 18 }
  - { expect: two ENIs of nine addresses serve eighteen pods, within: 1m, running: { pods: [web-*] } }
  - createPods: { node: n1, pods: [late] }
  - { expect: the next one waits, holdsFor: 5s, waiting: { pods: [late] } }
  - { expect: an Event says why, event: { about: pod/late, reason: InstanceFull, says: [m5.large, 3 of 3 ENIs] } }
  - deletePods: [web-1]
  - { expect: one pod ends -> the next one runs, within: 1m, running: { pods: [late] } }`),
    ],
    [
      'S03 U01 as many pods as the command says a t2.medium takes all run, and none is left without an address',
      world(`steps:
  - createPods: { node: n1, prefix: web, count: ${podsFor('t2.medium')} }
  - { expect: ten pods beside two on the host, within: 1m, running: { pods: [web-*] } }
  - { expect: the instance holds no more, holdsFor: 5s, addresses: { node: n1, held: 10, used: 10 } }`).replace(
        'type: m5.large',
        'type: t2.medium',
      ),
    ],
    [
      'U03 sixty pods packed by the density of each type run on a c5.large and a c5.xlarge',
      world(`steps:
  - launchNode: n2
  - createPods: { node: n1, prefix: small, count: ${podsFor('c5.large')} }
  - createPods: { node: n2, prefix: big, count: ${60 - podsFor('c5.large')} }
  - { expect: eighteen on the small one, within: 1m, running: { pods: [small-*] } }
  - { expect: forty-two on the big one, within: 1m, running: { pods: [big-*] } }
  - { expect: which is then full, holdsFor: 5s, addresses: { node: n2, held: ${podsFor('c5.xlarge')}, used: ${podsFor('c5.xlarge')} } }`)
        .replace('type: m5.large', 'type: c5.large')
        .replace('type: m5.large', 'type: c5.xlarge'),
    ],
    [
      'an ENIConfig without a subnet: its status and an Event name the field, and no ENI is made',
      world(
        `---
{ apiVersion: crd.k8s.amazonaws.com/v1alpha1, kind: ENIConfig, metadata: { name: broken }, spec: { securityGroups: [] } }`,
        ', annotations: { k8s.amazonaws.com/eniConfig: broken }',
      ).replace(
        '---',
        `steps:
  - { expect: the ENIConfig says it, eniConfigStatus: { name: broken, ready: false, says: [spec.subnet is missing] } }
  - { expect: the node says it, condition: { node: n1, type: EniConfigSelected, status: 'False', says: [broken, spec.subnet] } }
  - { expect: an Event says it, event: { about: node/n1, says: [spec.subnet] } }
  - { expect: no ENI, holdsFor: 5s, enis: { node: n1, count: 0 } }
---`,
      ),
    ],
    [
      'an ENIConfig with a malformed subnet id: the same',
      world(
        `steps:
  - { expect: the ENIConfig says it, eniConfigStatus: { name: broken, ready: false, says: ['"subnet-1" is not a subnet id'] } }
  - { expect: nothing is selected, selection: { node: n1, is: None, source: Annotation } }
  - { expect: no ENI, holdsFor: 5s, enis: { node: n1, count: 0 } }
---
{ apiVersion: crd.k8s.amazonaws.com/v1alpha1, kind: ENIConfig, metadata: { name: broken }, spec: { subnet: subnet-1 } }`,
        ', annotations: { k8s.amazonaws.com/eniConfig: broken }',
      ),
    ],
    [
      'an ENIConfig with a security group that does not exist: the same',
      world(
        `steps:
  - { expect: the ENIConfig says it, eniConfigStatus: { name: broken, ready: false, says: [sg-0000000000000000f] } }
  - { expect: nothing is selected, selection: { node: n1, is: None, source: Annotation } }
  - { expect: no ENI, holdsFor: 5s, enis: { node: n1, count: 0 } }
---
{ apiVersion: crd.k8s.amazonaws.com/v1alpha1, kind: ENIConfig, metadata: { name: broken }, spec: { subnet: subnet-00000000000000002, securityGroups: [sg-0000000000000000f] } }`,
        ', annotations: { k8s.amazonaws.com/eniConfig: broken }',
      ),
    ],
    [
      'a deleted ENIConfig: running pods keep their addresses, and nothing new is made',
      world(`steps:
  - createPods: { node: n1, pods: [old] }
  - { expect: it runs, running: { pods: [old] } }
  - deleteEniConfig: eu-west-1a
  - { expect: nothing is selected, selection: { node: n1, is: None } }
  - createPods: { node: n1, pods: [new] }
  - { expect: the running pod goes on, holdsFor: 5s, running: { pods: [old] } }`),
    ],
    [
      'a label is as good as an annotation, and is followed when it changes',
      world(`steps:
  - labelNode: { node: n1, set: { k8s.amazonaws.com/eniConfig: absent } }
  - { expect: the label wins over the zone, selection: { node: n1, is: None, source: Label } }
  - labelNode: { node: n1, remove: [k8s.amazonaws.com/eniConfig] }
  - { expect: without it the zone decides again, selection: { node: n1, is: eu-west-1a, source: Zone } }`),
    ],
  ];
  for (const [title, text] of stories)
    test(title, async () => {
      const played = await play(text);
      assert.equal(played.brokenCount, 0, played.text);
      assert.match(played.text, /✓/);
    });

  test('is the same run every time', async () => {
    const text = world(`steps:
  - createPods: { node: n1, prefix: web, count: 5 }
  - { expect: they run, running: { pods: [web-*] } }`);
    assert.deepEqual(await play(text), await play(text));
  });

  test('a cross says what was expected, what was seen, and what node and pods say of themselves', async () => {
    const { text, brokenCount } = await play(
      world(
        `steps:
  - createPods: { node: n1, pods: [web] }
  - { expect: it runs, within: 3s, running: { pods: [web], subnet: pods } }`,
        ', annotations: { k8s.amazonaws.com/eniConfig: absent }',
      ),
    );
    assert.equal(brokenCount, 1);
    assert.match(
      text,
      / {2}✗ it runs\n {6}expected: running in pods \(10\.0\.16\.0\/20\)\n {6}seen: {5}web: Waiting/,
    );
    assert.match(text, / {6}condition of n1: EniConfigSelected=False EniConfigNotFound: .*"absent"/);
    assert.match(text, / {6}Event: Warning EniConfigNotFound on node n1: /);
  });
});
