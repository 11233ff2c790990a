// `eniwhere explain`: over a lab, where what it says can be held against what the controller published.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { ok } from '../domain/result.ts';
import type { NodeNetworkRecord } from '../ports/cluster.ts';
import { openTestLab, type Ran, runCommand } from './testing.ts';

const TROUBLE = 'docs/examples/trouble.yaml';
const read = (path: string) => Promise.resolve(ok(readFileSync(path, 'utf8')));

const explain = (args: string, scenario = TROUBLE): Promise<Ran> =>
  runCommand(['explain', ...args.split(' '), '--scenario', scenario], { readFile: read });

suite('eniwhere explain node', () => {
  test('U46 [SEL-9] prints every rule in its order, what it found, and which one decided', async () => {
    const { exitCode, out } = await explain('node node-1');
    assert.equal(exitCode, 0, out);
    assert.deepEqual(
      [...out.matchAll(/^ {2}([->]) (\w+) /gm)].map(([, mark, rule]) => `${mark} ${rule}`),
      ['- CustomNetworkingOff', '- ExternalLabel', '- Annotation', '- Label', '- Class', '> Zone'],
    );
    assert.match(out, /4 held: 2 used, 0 cooling, 2 free for new pods; 0 pods wait; max pods 20/);
    assert.match(out, /WARM_IP_TARGET keeps 2 addresses free/);
  });

  test('says which address families pods get, and by what', async () => {
    const families = /^Address families: .*$/m;
    assert.deepEqual(
      (await explain('node node-1')).out.match(families)?.[0].split(', by ')[0],
      'Address families: IPv4',
    );
    const { out } = await explain('node four-1', 'scenarios/families.yaml');
    assert.equal(
      out.match(families)?.[0],
      'Address families: IPv4 and IPv6, by spec.addressFamilies of class four',
    );
  });

  test('U46 [SEL-1] a name that nobody has: the key, the value, the candidates and the command that fixes it', async () => {
    const { exitCode, out } = await explain('node node-2');
    assert.equal(exitCode, 1);
    assert.match(
      out,
      /> Annotation +annotation k8s\.amazonaws\.com\/eniConfig on node node-2 names "Pods_A"/,
    );
    assert.match(out, /"eu-west-1a", "pods-a"/);
    assert.match(out, /kubectl annotate node node-2 k8s\.amazonaws\.com\/eniConfig=pods-a --overwrite/);
    assert.match(out, /nothing, until what is missing is there/);
  });

  test('U14 a full subnet is named with its zone and block, not as "failed to assign an address"', async () => {
    const { exitCode, out } = await explain('node node-3');
    assert.equal(exitCode, 1);
    assert.match(
      out,
      /subnet subnet-05a0c0000000000b1 of ENIConfig "eu-west-1b" \(100\.64\.1\.0\/28, eu-west-1b\) is full/,
    );
    assert.match(out, /waiting: bank\/p10, bank\/p11, bank\/p12/);
  });

  test('gives programs the same, as JSON and YAML', async () => {
    const { out } = await explain('node node-2 -o json');
    const found = JSON.parse(out);
    assert.equal(found.selection.problem, 'EniConfigNotFound');
    assert.deepEqual(found.addresses.waiting, ['shop/search']);
    const yaml = await explain('node node-2 -o yaml');
    assert.match(yaml.out, /^kind: Node\nname: node-2\n/);
  });

  test('a node that is not there: the nodes that are', async () => {
    const { exitCode, out } = await explain('node node-9');
    assert.equal(exitCode, 2);
    assert.match(out, /there is no node "node-9"; the nodes are node-1, node-2, node-3/);
  });

  for (const scenario of ['scenarios/smoke.yaml', 'scenarios/demo.yaml', TROUBLE])
    test(`[TOOL-2] says what the controller published, for every node at the end of ${scenario}`, async () => {
      const networks: NodeNetworkRecord[] = [];
      let names: readonly string[] = [];
      await runCommand(['explain', 'node', 'none', '--scenario', scenario], {
        readFile: read,
        openLab: async (request) => {
          const opened = await openTestLab(request);
          if (opened.kind !== 'Open') return opened;
          const { lab } = opened.open;
          const close = async (): Promise<void> => {
            networks.push(...lab.cluster.admin.list('NodeNetwork'));
            names = lab.cluster.admin.list('Node').map((one) => one.name);
            await lab.close();
          };
          return { ...opened, open: { ...opened.open, lab: { ...lab, close } } };
        },
      });
      assert.ok(names.length > 0);
      for (const name of names) {
        const { out } = await explain(`node ${name} -o json`, scenario);
        const found = JSON.parse(out);
        const published = networks.find((one) => one.name === name)?.spec.selection;
        assert.deepEqual(found.selection, published, name);
        assert.deepEqual(
          found.next,
          [],
          `${name} is at rest at the end of a scenario, and the plan over the picture agrees`,
        );
      }
    });
});

suite('eniwhere explain pod', () => {
  test('tells the ENI, the ENIConfig, the subnet and the groups behind its address', async () => {
    const { exitCode, out } = await explain('pod shop/web');
    assert.equal(exitCode, 0);
    assert.match(
      out,
      /^pod shop\/web: it has 100\.64\.0\.\d+ on node node-1\n {2}ENI eni-\w+, made for ENIConfig "eu-west-1a"/,
    );
    assert.match(
      out,
      /subnet subnet-05a0c0000000000a1 \(100\.64\.0\.0\/24\), security groups sg-05a0c000000000002/,
    );
  });

  test('U14 tells what a pod without one waits for', async () => {
    const { exitCode, out } = await explain('pod bank/p12');
    assert.equal(exitCode, 1);
    assert.match(
      out,
      /^pod bank\/p12: it waits for an address on node node-3\n\nMissing\n {2}subnet .* is full/,
    );
  });

  test('a pod that is not there: one of that name elsewhere', async () => {
    const { exitCode, out } = await explain('pod web');
    assert.equal(exitCode, 2);
    assert.match(out, /there is no pod "default\/web"; there is shop\/web/);
  });
});

suite('eniwhere explain eniconfig', () => {
  test('tells who uses it and by which rule', async () => {
    const { exitCode, out } = await explain('eniconfig eu-west-1a');
    assert.equal(exitCode, 0);
    assert.match(
      out,
      /Selected for 1 nodes\n {2}node-1 {2}Zone: ENIConfig "eu-west-1a" is named like the zone/,
    );
  });

  test('one whose subnet does not exist', async () => {
    const { exitCode, out } = await explain('eniconfig eu-west-1c');
    assert.equal(exitCode, 1);
    assert.match(out, /spec\.subnet subnet-05a0c0000000000c1 does not exist in this account and Region/);
  });

  test('one that is not there, and that a node names in vain', async () => {
    const { exitCode, out } = await explain('eniconfig Pods_A -o json');
    assert.equal(exitCode, 2);
    assert.deepEqual(
      JSON.parse(out).refusedFor.map((one: { node: string }) => one.node),
      ['node-2'],
    );
  });
});

suite('the cluster commands', () => {
  test('end with 2 and the reason when there is no cluster to read', async () => {
    const { exitCode, err } = await runCommand(['explain', 'node', 'n']);
    assert.equal(exitCode, 2);
    assert.equal(err, 'eniwhere: there is no kubeconfig\n');
  });

  test('end with 2 for a setting that is none', async () => {
    const { exitCode, err } = await explain('node node-1 --setting AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG=maybe');
    assert.equal(exitCode, 2);
    assert.match(err, /AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG="maybe": expected true or false/);
  });
});
