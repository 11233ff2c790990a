// `eniwhere plan`: its answers, its what-ifs, and the mistakes in a file.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { ok } from '../domain/result.ts';
import type { Ran } from './testing.ts';
import { runCommand } from './testing.ts';

const EXAMPLE = readFileSync('docs/examples/plan.yaml', 'utf8');
const U103 = `
subnets: [{ name: pods-a, zone: a, cidr: 100.64.0.0/23, used: 107 }]
groups: [{ name: workers, instanceType: m5.large, nodes: 40, podsPerNode: 0 }]
`;

const plan = (text: string, args: readonly string[] = [], written?: Map<string, string>): Promise<Ran> =>
  runCommand(['plan', 'cluster.yaml', ...args], {
    readFile: () => Promise.resolve(ok(text)),
    writeFile: (path, content) => {
      written?.set(path, content);
      return Promise.resolve(ok(undefined));
    },
  });

suite('eniwhere plan', () => {
  test('tells what is used, when each subnet is full, and what would help', async () => {
    const { exitCode, out } = await plan(EXAMPLE);
    assert.equal(exitCode, 0);
    assert.match(out, /^pods-a +eu-west-1a +█+\S* +50 % +255 +12 +144 +72 +24$/m);
    assert.match(out, /^pods-b .* full with 39 nodes and 524 pods$/m);
    assert.match(out, /\+22 nodes, \+352 pods: add another \/23 for pods in zone eu-west-1b/);
  });

  test('U103 what-if shows that a greater warm pool asks for 400 more addresses, advises against, and ends with 1', async () => {
    const { exitCode, out } = await plan(U103, ['--what-if', 'workers.targets.WARM_ENI_TARGET=2']);
    assert.equal(exitCode, 1);
    assert.match(out, /addresses that the nodes ask for +400 +800 +\+400/);
    assert.match(out, /of these, not to be had +0 +400 +\+400/);
    assert.match(out, /Do not: there are not enough addresses/);
    const { exitCode: before } = await plan(U103);
    assert.equal(before, 0);
  });

  test('a subnet can be added, and a field of a subnet changed', async () => {
    const { out } = await plan(EXAMPLE, [
      '--add-subnet',
      'pods-a2=100.64.4.0/23@eu-west-1a',
      '--what-if',
      'pods-b.used=300',
      '-o',
      'json',
    ]);
    const found = JSON.parse(out);
    assert.deepEqual(
      found.present.map((one: { subnet: { name: string } }) => one.subnet.name),
      ['nodes-a', 'nodes-b', 'pods-a', 'pods-b', 'pods-a2'],
    );
    assert.equal(found.changes.length, 2);
    assert.ok(found.nodeMax !== found.before.nodeMax);
  });

  test('the picture is the same for the same plan, and has a line per subnet', async () => {
    const written = new Map<string, string>();
    await plan(EXAMPLE, ['--svg', 'one.svg'], written);
    await plan(EXAMPLE, ['--svg', 'two.svg'], written);
    const svg = written.get('one.svg') ?? '';
    assert.equal(svg, written.get('two.svg'));
    assert.equal(svg.match(/<polyline /g)?.length, 4);
    assert.match(svg, /pods-b is full with 39 nodes and 524 pods/);
    assert.doesNotMatch(svg, /NaN|undefined/);
  });

  test('U07 a reservation for prefixes takes room from single addresses', async () => {
    const found = JSON.parse(
      (await plan(EXAMPLE, ['--what-if', 'pods-a.reservedForPrefixes=100.64.1.0/24', '-o', 'json'])).out,
    );
    const [now, then] = [found.before, found].map(({ present }) =>
      present.find((one: { subnet: { name: string } }) => one.subnet.name === 'pods-a'),
    );
    assert.deepEqual([now.usableCount, then.usableCount, then.freeBlockCount], [507, 252, 15]);
    assert.ok(found.podMax < found.before.podMax);
  });

  const groups = 'groups: [{ name: w, instanceType: m5.large, podsPerNode: 5, zones: [a] }]\n';
  const subnet = (fields: string): string => `subnets: [{ name: p, zone: a, ${fields} }]\n${groups}`;
  const wrong: readonly [string, string, readonly string[], RegExp][] = [
    ['a file that is no YAML', 'subnets: [', [], /cluster\.yaml: /],
    ['an unknown field', subnet('cidr: 10.0.0.0/24, size: 3'), [], /subnet "p": Unrecognized key: "size"/],
    [
      'a block with host bits',
      subnet('cidr: 10.0.0.7/24'),
      [],
      /subnet "p", cidr: "10\.0\.0\.7\/24" has host bits set: [^"]*$/m,
    ],
    [
      'U48 nodes in a zone without a subnet for pods',
      subnet('cidr: 10.0.0.0/24').replace('zones: [a]', 'zones: [a, b]'),
      [],
      /group "w": NoPodSubnetInZone: no subnet for its pods is in zone b/,
    ],
    [
      'U101 a subnet that nodes and pods share',
      `subnets: [{ name: n, zone: a, cidr: 10.0.0.0/24, for: nodes }, { name: p, zone: a, cidr: 10.0.0.128/25 }]\n${groups}`,
      [],
      /subnets "n" \(10\.0\.0\.0\/24, nodes\) and "p" \(10\.0\.0\.128\/25, pods\) overlap/,
    ],
    [
      'more in use than the block has',
      subnet('cidr: 10.0.0.0/28, used: 12'),
      [],
      /10\.0\.0\.0\/28 has 11 usable addresses, and 12 are said to be in use/,
    ],
    [
      'more in use than is left beside reservations',
      subnet('cidr: 10.0.0.0/24, reserved: [10.0.0.0/25], used: 128'),
      [],
      /10\.0\.0\.0\/24 has 127 usable addresses outside what is reserved, and 128 are said to be in use/,
    ],
    [
      'more blocks in use than are reserved',
      subnet('cidr: 10.0.0.0/24, reservedForPrefixes: 10.0.0.128/26, usedBlocks: 5'),
      [],
      /10\.0\.0\.0\/24 has 4 blocks of 16 reserved for prefixes, and 5 are said to be in use/,
    ],
    [
      'a reservation outside its subnet',
      subnet('cidr: 10.0.0.0/24, reserved: 10.0.1.0/28'),
      [],
      /10\.0\.1\.0\/28 is to be reserved and lies outside 10\.0\.0\.0\/24/,
    ],
    [
      'an unknown instance type',
      subnet('cidr: 10.0.0.0/24').replace('m5.large', 'm99.mega'),
      [],
      /group "w": instance type "m99\.mega" is not known/,
    ],
    [
      'a what-if about nobody',
      subnet('cidr: 10.0.0.0/24'),
      ['--what-if', 'x.mode=Prefix'],
      /there is no group or subnet "x"; there are w, p/,
    ],
    [
      'a what-if that says nothing',
      subnet('cidr: 10.0.0.0/24'),
      ['--what-if', 'mode'],
      /expected NAME\.FIELD=VALUE/,
    ],
    [
      'a what-if that is no setting',
      subnet('cidr: 10.0.0.0/24'),
      ['--what-if', 'w.mode=Fast'],
      /group "w", mode: Invalid option: expected one of "SecondaryIP"\|"Prefix", and not "Fast"/,
    ],
  ];
  for (const [title, text, args, message] of wrong)
    test(`ends with 2 on ${title}`, async () => {
      const { exitCode, err } = await plan(text, args);
      assert.equal(exitCode, 2);
      assert.match(err, message);
    });

  test('max pods bounds the pods of a node, and says so', async () => {
    const { out } = await plan(subnet('cidr: 10.0.0.0/24').replace('podsPerNode: 5', 'podsPerNode: 50'));
    assert.match(out, /Group w: counted with 18 pods per node, not 50: max pods of m5\.large is 20/);
  });
});

suite('eniwhere plan of a cluster', () => {
  const live = (
    args: readonly string[],
    written?: Map<string, string>,
    scenario = 'docs/examples/trouble.yaml',
  ): Promise<Ran> =>
    runCommand(['plan', '--scenario', scenario, ...args], {
      readFile: (path) => Promise.resolve(ok(readFileSync(path, 'utf8'))),
      writeFile: (path, content) => {
        written?.set(path, content);
        return Promise.resolve(ok(undefined));
      },
    });

  test('takes subnets and groups from it, nodes without a selection left out', async () => {
    const { exitCode, out } = await live(['-o', 'json']);
    assert.equal(exitCode, 0);
    const { present } = JSON.parse(out);
    assert.deepEqual(
      present.map((one: { subnet: { name: string; for: string }; nodeCount: number }) => [
        one.subnet.name,
        one.subnet.for,
        one.nodeCount,
      ]),
      [
        ['eu-west-1a', 'pods', 1],
        ['eu-west-1b', 'pods', 1],
        ['subnet-05a0c00000000000a', 'nodes', 1],
        ['subnet-05a0c00000000000b', 'nodes', 1],
      ],
    );
  });

  test('--save writes a file that gives the same answer', async () => {
    const written = new Map<string, string>();
    const { out } = await live(['--save', 'mine.yaml'], written);
    const again = await plan(written.get('mine.yaml') ?? '');
    assert.equal(again.out, out);
  });

  test('knows what is reserved in it: --save writes it down, and blocks are counted apart', async () => {
    const written = new Map<string, string>();
    const { out } = await live(['--save', 'mine.yaml'], written, 'docs/examples/reserved.yaml');
    assert.match(out, /^eu-west-1a has 5 whole blocks of 16 free in what is reserved for prefixes/m);
    assert.match(
      written.get('mine.yaml') ?? '',
      /used: 0\n {4}reservedForPrefixes:\n {6}- 100\.64\.0\.128\/25\n/,
    );
    assert.equal((await plan(written.get('mine.yaml') ?? '')).out, out);
  });

  test('what-if works on it as on a file', async () => {
    const { out } = await live(['--what-if', 'nodes-m5.large.podsPerNode=9']);
    assert.match(out, /^What if nodes-m5\.large\.podsPerNode=9$/m);
  });
});
