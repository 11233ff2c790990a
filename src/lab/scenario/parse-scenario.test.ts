// Scenario files: what is read, and what is said, at which line and column, of each mistake.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseScenario, showMistakes } from './parse-scenario.ts';
import type { Scenario } from './scenario.ts';
import { mistakesOf, SMALL_WORLD as WORLD } from './testing-scenario.ts';

function read(text: string): Scenario {
  const parsed = parseScenario(text);
  assert.ok(parsed.ok, parsed.ok ? '' : showMistakes('x.yaml', parsed.error));
  return parsed.value;
}

suite('a scenario file', () => {
  test('has the world, with settings as texts and defaults filled in', () => {
    const scenario = read(WORLD);
    assert.deepEqual(scenario.settings, { WARM_ENI_TARGET: '1', AWS_VPC_K8S_CNI_EXTERNALSNAT: 'true' });
    assert.deepEqual(scenario.hosts, {
      internet: '203.0.113.10',
      internetIpv6: '2001:db8:cb:71::10',
      onPrem: '192.168.50.10',
    });
    assert.deepEqual(scenario.vpc.securityGroups[0]?.ingress[0], {
      protocol: 'tcp',
      port: { first: 8000, last: 8080 },
      peer: '10.0.0.0/16',
    });
    assert.equal(scenario.nodes[1]?.launch, 'ByStep');
    assert.deepEqual(scenario.steps, []);
  });

  test('has steps: actions and expectations, with durations in any unit', () => {
    const { steps } = read(`${WORLD}steps:
  - createPods: { node: n1, prefix: web, count: 2 }
  - expect: both run
    within: 2m
    running: { pods: [web-*], subnet: pods-a }
  - expect: they talk
    reach: { from: pod/web-1, to: 'pod/web-2:8443', seenAs: self, family: IPv6 }
`);
    assert.deepEqual(steps, [
      {
        kind: 'Action',
        action: {
          verb: 'createPods',
          request: { node: 'n1', annotations: {}, pods: ['default/web-1', 'default/web-2'] },
        },
      },
      {
        kind: 'Expectation',
        expectation: {
          title: 'both run',
          check: { kind: 'running', want: { pods: [{ key: 'default/web-', any: true }], subnet: 'pods-a' } },
          withinMs: 120_000,
          holdsForMs: 0,
        },
      },
      {
        kind: 'Expectation',
        expectation: {
          title: 'they talk',
          check: {
            kind: 'reach',
            want: {
              from: { kind: 'Pod', pod: 'default/web-1' },
              to: { endpoint: { kind: 'Pod', pod: 'default/web-2' }, port: 8443 },
              seenAs: 'self',
              family: 6,
            },
          },
          withinMs: 15_000,
          holdsForMs: 0,
        },
      },
    ]);
  });

  test('may carry ENIConfigs as further documents, also as the List that kubectl prints', () => {
    const object = (name: string): string =>
      `{ apiVersion: crd.k8s.amazonaws.com/v1alpha1, kind: ENIConfig, metadata: { name: ${name} }, spec: { subnet: subnet-00000000000000002 } }`;
    const scenario = read(
      `${WORLD}---\n${object('one')}\n---\napiVersion: v1\nkind: List\nitems:\n  - ${object('two')}\n`,
    );
    assert.deepEqual(
      scenario.eniConfigs.map(({ name }) => name),
      ['eu-west-1a', 'one', 'two'],
    );
  });

  test('may name nodes as AWS does', () => {
    const name = 'ip-10-0-0-4.eu-west-1.compute.internal';
    assert.equal(read(WORLD.replace('name: n1', `name: ${name}`)).nodes[0]?.name, name);
  });

  test('may have settings of the AWS CNI that Eniwhere does not read', () => {
    const { settings } = read(WORLD.replace('WARM_ENI_TARGET: 1', 'AWS_VPC_K8S_CNI_LOGLEVEL: DEBUG'));
    assert.equal(settings['AWS_VPC_K8S_CNI_LOGLEVEL'], 'DEBUG');
  });

  test('may carry an ENIConfig whose spec cannot work: what Eniwhere says of it is what the scenario shows', () => {
    const scenario = read(
      `${WORLD}---\n{ apiVersion: crd.k8s.amazonaws.com/v1alpha1, kind: ENIConfig, metadata: { name: bad }, spec: {} }\n`,
    );
    assert.equal(scenario.eniConfigs[1]?.spec.kind, 'Malformed');
  });
});

suite('a mistake in a scenario file is told with its line and column', () => {
  const replaced = (from: string, to: string): string => {
    assert.ok(WORLD.includes(from), from);
    return WORLD.replace(from, to);
  };
  const cases: readonly [string, string, string][] = [
    ['an empty file', '', 'x.yaml:1:1: the file is empty; a scenario starts with name: and vpc:'],
    ['broken YAML', 'name: [a\nvpc: {', 'x.yaml:2:1: '],
    ['a key given twice', `${WORLD}name: again\n`, 'x.yaml:23:1: Map keys must be unique'],
    [
      'a text where a mapping belongs',
      'just text',
      'x.yaml:1:1: the scenario must be a mapping, but is "just text"',
    ],
    [
      'a missing key',
      replaced('    - id: sg-00000000000000001\n      name', '    - name'),
      'x.yaml:9:7: vpc.securityGroups[0].id is missing',
    ],
    [
      'a mistyped key',
      replaced('zone: eu-west-1a, cidr: 10.0.0.0/24', 'zoen: eu-west-1a, cidr: 10.0.0.0/24'),
      'x.yaml:6:54: vpc.subnets[0]: unknown key "zoen"; did you mean "zone"?',
    ],
    [
      'an unknown key',
      `${WORLD}colour: red\n`,
      'x.yaml:23:1: the scenario: unknown key "colour"; the keys here are name, about, vpc,',
    ],
    [
      'a malformed id',
      replaced('subnet-00000000000000001,', 'subnet-1,'),
      'x.yaml:6:13: vpc.subnets[0].id: "subnet-1" is not a subnet id: expected subnet- followed by 8 or 17 lower-case hex digits',
    ],
    [
      'a malformed CIDR',
      replaced('10.0.16.0/20', '10.0.17.0/20'),
      'x.yaml:7:77: vpc.subnets[1].cidr: "10.0.17.0/20" has host bits set: the block of 10.0.17.0 is 10.0.16.0/20',
    ],
    [
      'IPv6 in the VPC',
      replaced('cidr: 10.0.0.0/16', 'cidr: 2001:db8::/56'),
      `x.yaml:4:9: vpc.cidr: "2001:db8::/56" is IPv6, and IPv4 is wanted here`,
    ],
    [
      'an IPv6 block that is no /56',
      replaced('cidr: 10.0.0.0/16', 'cidr: 10.0.0.0/16\n  ipv6Cidr: 2001:db8::/48'),
      "2001:db8::/48: a VPC's IPv6 block is a /56",
    ],
    [
      'a reservation outside its subnet',
      replaced('cidr: 10.0.16.0/20', 'cidr: 10.0.16.0/20, prefixReservations: [10.0.32.0/24]'),
      '10.0.32.0/24 is no block of /28 or larger within 10.0.16.0/20',
    ],
    [
      "a subnet's IPv6 block in a VPC without one",
      replaced('cidr: 10.0.16.0/20', "cidr: 10.0.16.0/20, ipv6Cidr: '2001:db8::/64'"),
      "2001:db8::/64 lies outside the VPC's IPv6 block (it has none)",
    ],
    [
      "a subnet's IPv6 block that is no /64",
      replaced('cidr: 10.0.16.0/20', "cidr: 10.0.16.0/20, ipv6Cidr: '2001:db8::/80'"),
      "2001:db8::/80: a subnet's IPv6 block is a /64",
    ],
    [
      'a subnet outside the VPC',
      replaced('10.0.16.0/20', '10.1.16.0/20'),
      'x.yaml:7:77: 10.1.16.0/20 lies outside the VPC (10.0.0.0/16)',
    ],
    [
      'overlapping subnets',
      replaced('10.0.16.0/20', '10.0.0.0/20'),
      'x.yaml:7:77: 10.0.0.0/20 overlaps subnet nodes-a (10.0.0.0/24)',
    ],
    [
      'a subnet too small for AWS',
      replaced('10.0.16.0/20', '10.0.16.0/29'),
      'x.yaml:7:77: 10.0.16.0/29: a subnet is a /16 to a /28',
    ],
    [
      'a subnet name twice',
      replaced('name: pods-a', 'name: nodes-a'),
      'x.yaml:7:45: a second subnet with name "nodes-a"',
    ],
    [
      'an unknown group in a rule',
      replaced('peer: nodes', 'peer: node'),
      'x.yaml:13:34: unknown security group "node"; did you mean "nodes"?',
    ],
    [
      'a port for all protocols',
      replaced('protocol: all,', 'protocol: all, port: 80,'),
      'x.yaml:13:34: vpc.securityGroups[0].ingress[1].port: only tcp and udp have ports',
    ],
    [
      'an impossible port',
      replaced('8000-8080', '8080-8000'),
      'x.yaml:12:34: vpc.securityGroups[0].ingress[0].port: "8080-8000" is not a port (1 to 65535) or a range of ports like 8000-8080',
    ],
    [
      'a protocol that no group has',
      replaced('protocol: tcp', 'protocol: http'),
      'x.yaml:12:23: vpc.securityGroups[0].ingress[0].protocol is "http"; it must be one of all, tcp, udp, icmp, icmpv6',
    ],
    [
      'a host inside the VPC',
      `${WORLD}hosts: { internet: 10.0.0.9 }\n`,
      'x.yaml:23:20: 10.0.0.9 lies inside the VPC; choose an address outside',
    ],
    [
      'a setting that is a list',
      replaced('WARM_ENI_TARGET: 1', 'WARM_ENI_TARGET: [1]'),
      'x.yaml:14:30: settings.WARM_ENI_TARGET: a setting is a text, a number or a boolean',
    ],
    [
      'a setting that the controller refuses',
      replaced('AWS_VPC_K8S_CNI_EXTERNALSNAT: true', 'AWS_VPC_K8S_CNI_EXTERNALSNAT: maybe'),
      'x.yaml:14:63: AWS_VPC_K8S_CNI_EXTERNALSNAT="maybe": expected true or false',
    ],
    [
      'a mistyped setting',
      replaced('WARM_ENI_TARGET', 'WARM_ENI_TARGETS'),
      'x.yaml:14:31: unknown setting "WARM_ENI_TARGETS"; did you mean "WARM_ENI_TARGET"?',
    ],
    [
      'an ENIConfig of another kind',
      replaced('kind: ENIConfig', 'kind: EniConfig'),
      'x.yaml:16:5: eniConfigs[0]: kind is "EniConfig"; set kind: ENIConfig',
    ],
    [
      'an ENIConfig twice',
      `${WORLD}---\n{ apiVersion: crd.k8s.amazonaws.com/v1alpha1, kind: ENIConfig, metadata: { name: eu-west-1a }, spec: {} }`,
      'a second ENIConfig named "eu-west-1a"',
    ],
    [
      'an object that is no ENIConfig in a further document',
      `${WORLD}---\napiVersion: v1\nkind: Pod\n`,
      'x.yaml:24:1: apiVersion is "v1"; set apiVersion: crd.k8s.amazonaws.com/v1alpha1',
    ],
    [
      'a node in an unknown subnet',
      replaced('{ name: n1, type: m5.large, subnet: nodes-a', '{ name: n1, type: m5.large, subnet: node-a'),
      'x.yaml:21:41: unknown subnet "node-a"; did you mean "nodes-a"?',
    ],
    [
      'an instance type that the lab does not know',
      replaced('n1, type: m5.large', 'n1, type: m5.larg'),
      'x.yaml:21:23: unknown instance type "m5.larg"; did you mean "m5.large"?',
    ],
    [
      'a zone label that lies',
      replaced('launch: ByStep', 'labels: { topology.kubernetes.io/zone: eu-west-1b }'),
      'x.yaml:22:114: node n2 is in zone eu-west-1a by its subnet; leave the label out, it is set by itself',
    ],
    [
      'a label without quotes',
      replaced('launch: ByStep', 'labels: { fast: true }'),
      'x.yaml:22:91: nodes[1].labels.fast must be a text (put it in quotes), but is true',
    ],
  ];
  for (const [title, text, expected] of cases)
    test(title, () => {
      const told = mistakesOf(text);
      assert.ok(told.includes(expected), `told:\n${told}\nexpected:\n${expected}`);
    });

  test('all mistakes of one file are told at once, in the order of the file', () => {
    const text = replaced('protocol: tcp', 'protocol: http').replace('name: small', 'name: Small');
    assert.deepEqual(
      mistakesOf(text)
        .split('\n')
        .map((line) => line.split(': ')[0]),
      ['x.yaml:1:7', 'x.yaml:12:23'],
    );
  });
});
