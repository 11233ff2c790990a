// Boot documents, read back as the node reads them: what is asked for is what kubelet would get.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml, parseAllDocuments } from 'yaml';
import type { UserDataRefusal, UserDataRequest } from './request.ts';
import { access, documentOf, readMime, request, row, runBash, type } from './testing.ts';
import { userData } from './user-data.ts';

const TAINT = 'eniwhere.io/network-not-ready=true:NoSchedule';
const byAddress = [row('10.0.1.0/24', 'pods-a1', 'pods-a2'), row('10.0.0.0/16', 'pods-b')];
/** Plain objects, which the parser's are not. */
const readToml = (text: string): unknown => JSON.parse(JSON.stringify(parseToml(text)));

const labels = new Map([['team', 'shop']]);

function refusal(with_: Partial<UserDataRequest>): UserDataRefusal {
  const answer = userData(request(with_));
  assert.ok(answer.kind === 'Refused', JSON.stringify(answer));
  return answer;
}

/** The arguments that /etc/eks/bootstrap.sh is called with, when the node's address is as given. */
function bootstrapArguments(script: string, address: string): readonly string[] {
  const stubbed = script
    .replaceAll('/etc/eks/bootstrap.sh', 'bootstrap')
    .replace(
      'set -euo pipefail',
      `set -euo pipefail\nbootstrap() { printf '%s\\n' "$@"; }\ncurl() { printf '${address}'; }`,
    );
  return runBash(stubbed).trimEnd().split('\n');
}

/** What the script of an AL2023 part writes into the folder of drop-ins. */
function dropIn(script: string, address: string): unknown {
  const stubbed = script
    .replace(/^mkdir .*$/m, '')
    .replaceAll(/cat >\/etc\/eks\/\S+/g, 'cat')
    .replace('set -euo pipefail', `set -euo pipefail\ncurl() { printf '${address}'; }`);
  return parseYaml(runBash(stubbed));
}

suite('user data of Amazon Linux 2', () => {
  test('runs bootstrap.sh with max pods, labels and taint, and the choice by address among the labels', () => {
    const { text, effectiveMaxPods } = documentOf({ os: 'al2', labels, startupTaint: true, byAddress });
    assert.equal(effectiveMaxPods, 20);
    const [part, ...others] = readMime(text);
    assert.ok(part !== undefined && others.length === 0);
    assert.equal(part.contentType, 'text/x-shellscript');
    const called = bootstrapArguments(part.body, '10.0.7.7');
    assert.deepEqual(called, [
      'prod',
      '--apiserver-endpoint',
      access.endpoint,
      '--b64-cluster-ca',
      access.certificateAuthority,
      '--use-max-pods',
      'false',
      '--kubelet-extra-args',
      `--max-pods=20 --node-labels=team=shop,k8s.amazonaws.com/eniConfig=pods-b --register-with-taints=${TAINT}`,
    ]);
  });

  test('[TOOL-3] S04 U21 a managed group without an AMI id takes nothing: refused, with what the nodes would get', () => {
    const { code, message, fix } = refusal({
      os: 'al2',
      starter: 'managed',
      maxPods: [type('t3.medium', 12, 17), type('t3a.xlarge', 44, 58)],
    });
    assert.equal(code, 'NothingSurvives');
    assert.match(message, /max pods would be 17 on all nodes, limited by t3\.medium/);
    assert.match(fix, /name an AMI/);
  });
});

suite('user data of Amazon Linux 2023', () => {
  test('U80 is one NodeConfig with cluster, max pods and flags', () => {
    const { text } = documentOf({ labels, startupTaint: true });
    const parts = readMime(text);
    assert.deepEqual(
      parts.map((part) => part.contentType),
      ['application/node.eks.aws'],
    );
    assert.deepEqual(parseYaml(parts[0]?.body ?? ''), {
      apiVersion: 'node.eks.aws/v1alpha1',
      kind: 'NodeConfig',
      spec: {
        cluster: {
          name: 'prod',
          apiServerEndpoint: access.endpoint,
          certificateAuthority: access.certificateAuthority,
          cidr: access.serviceCidr,
        },
        kubelet: {
          config: { maxPods: 20 },
          flags: ['--node-labels=team=shop', `--register-with-taints=${TAINT}`],
        },
      },
    });
  });

  test('U21 a managed group without an AMI id gets a drop-in, which outranks what EKS adds', () => {
    const { text, effectiveMaxPods } = documentOf({ starter: 'managed', startupTaint: true, labels });
    assert.equal(effectiveMaxPods, 20);
    const [script] = readMime(text);
    assert.equal(script?.contentType, 'text/x-shellscript');
    assert.deepEqual(dropIn(script?.body ?? '', ''), {
      apiVersion: 'node.eks.aws/v1alpha1',
      kind: 'NodeConfig',
      spec: {
        kubelet: {
          config: { maxPods: 20 },
          flags: ['--node-labels=team=shop', `--register-with-taints=${TAINT}`],
        },
      },
    });
  });

  test('the choice by address is one more flag, by the drop-in that only the node can write', () => {
    const { text } = documentOf({ byAddress });
    const [nodeConfig, script] = readMime(text);
    assert.equal(parseYaml(nodeConfig?.body ?? '').spec.kubelet.config.maxPods, 20);
    assert.deepEqual(dropIn(script?.body ?? '', '10.0.9.1'), {
      apiVersion: 'node.eks.aws/v1alpha1',
      kind: 'NodeConfig',
      spec: { kubelet: { flags: ['--node-labels=k8s.amazonaws.com/eniConfig=pods-b'] } },
    });
  });

  test('[SEL-1] without an answer of instance metadata the label names no ENIConfig', () => {
    const { text } = documentOf({ starter: 'managed', byAddress });
    const [script] = readMime(text);
    const deaf = (script?.body ?? '')
      .replace(/^mkdir .*$/m, '')
      .replaceAll(/cat >\/etc\/eks\/\S+/g, 'cat')
      .replace('set -euo pipefail', 'set -euo pipefail\ncurl() { return 7; }\nsleep() { :; }');
    assert.match(runBash(deaf), /--node-labels=k8s\.amazonaws\.com\/eniConfig=address-unknown/);
  });

  test('U23 says when nodeadm keeps memory for fewer pods than the node will have', () => {
    const { notes } = documentOf({ maxPods: [type('m5.large', 110, 29)] });
    assert.match(notes.join(), /reserves memory for the 29 pods .* kubeReserved memory to 1465Mi/);
    assert.deepEqual(documentOf({}).notes, []);
  });
});

suite('user data of Bottlerocket', () => {
  test('U81 is TOML with max-pods as an integer of settings.kubernetes', () => {
    const { text } = documentOf({ os: 'bottlerocket', labels, startupTaint: true });
    assert.deepEqual(readToml(text), {
      settings: {
        kubernetes: {
          'cluster-name': 'prod',
          'api-server': access.endpoint,
          'cluster-certificate': access.certificateAuthority,
          'max-pods': 20,
          'node-labels': { team: 'shop' },
          'node-taints': { 'eniwhere.io/network-not-ready': ['true:NoSchedule'] },
        },
      },
    });
  });

  test('a managed group needs no access to the cluster in it', () => {
    const { text } = documentOf({ os: 'bottlerocket', starter: 'managed' });
    assert.deepEqual(readToml(text), { settings: { kubernetes: { 'max-pods': 20 } } });
  });

  test('the choice by address needs an image with a shell, and its script is the same', () => {
    assert.equal(refusal({ os: 'bottlerocket', byAddress }).code, 'NoShell');
    const { text } = documentOf({ os: 'bottlerocket', byAddress, bootstrapImage: 'example.com/boot:1' });
    const { 'bootstrap-containers': containers } = parseToml(text)['settings'] as unknown as {
      'bootstrap-containers': { eniwhere: { source: string; 'user-data': string } };
    };
    assert.equal(containers.eniwhere.source, 'example.com/boot:1');
    const script = Buffer.from(containers.eniwhere['user-data'], 'base64').toString('utf8');
    const said = runBash(
      script.replace(
        'set -euo pipefail',
        `set -euo pipefail\ncurl() { printf 10.0.9.1; }\napiclient() { printf '%s\\n' "$@"; }`,
      ),
    );
    const [verb, option, json = ''] = said.split('\n');
    assert.deepEqual([verb, option], ['set', '--json']);
    assert.deepEqual(JSON.parse(json), {
      kubernetes: { 'node-labels': { 'k8s.amazonaws.com/eniConfig': 'pods-b' } },
    });
  });
});

suite('objects for Karpenter', () => {
  const objects = (with_: Partial<UserDataRequest>) =>
    parseAllDocuments(documentOf({ starter: 'karpenter', ...with_ }).text).map((document) => {
      assert.deepEqual(document.errors, []);
      return document.toJS();
    });

  test('U03 max pods stands in the EC2NodeClass, labels and the startup taint in the NodePool', () => {
    const [nodeClass, nodePool] = objects({ labels, startupTaint: true });
    assert.equal(nodeClass.spec.kubelet.maxPods, 20);
    assert.deepEqual(nodePool.spec.template.metadata.labels, { team: 'shop' });
    assert.deepEqual(nodePool.spec.template.spec.startupTaints, [
      { key: 'eniwhere.io/network-not-ready', value: 'true', effect: 'NoSchedule' },
    ]);
  });

  test('U03 types of different density get no shared figure, and the note says what to set', () => {
    const types = [type('c5.large', 20, 29), type('c5.xlarge', 44, 58)];
    const [nodeClass] = objects({ maxPods: types });
    assert.equal(nodeClass.spec.kubelet, undefined);
    assert.match(
      documentOf({ starter: 'karpenter', maxPods: types }).notes.join(),
      /c5\.large 20, c5\.xlarge 44.*RESERVED_ENIS/,
    );
  });

  test('the choice by address is user data inside the EC2NodeClass', () => {
    const [nodeClass] = objects({ byAddress });
    const [script] = readMime(`${nodeClass.spec.userData}`);
    assert.match(JSON.stringify(dropIn(script?.body ?? '', '10.0.9.1')), /eniConfig=pods-b/);
  });
});

suite('user data', () => {
  test('S01 U02 the same types have the same max pods on every operating system', () => {
    const rows: readonly [string, number, number][] = [
      ['t2.medium', 12, 17],
      ['t3.small', 8, 11],
      ['c5.large', 20, 29],
      ['t3.2xlarge', 44, 58],
      ['c5.4xlarge', 110, 110],
    ];
    for (const [name, maxPods, byEks] of rows)
      for (const os of ['al2', 'al2023', 'bottlerocket'] as const)
        assert.equal(documentOf({ os, maxPods: [type(name, maxPods, byEks)] }).effectiveMaxPods, maxPods, os);
  });

  test('S04 U22 the smallest type of a group limits all, and it is said', () => {
    const { effectiveMaxPods, notes } = documentOf({
      maxPods: [type('m5.large', 20, 29), type('d3en.xlarge', 8, 10)],
    });
    assert.equal(effectiveMaxPods, 8);
    assert.match(notes.join(), /limited by d3en\.xlarge; alone, these could hold more: m5\.large 20/);
  });

  test('[K8S-1] more pods than there are addresses for are refused', () => {
    const { code, message } = refusal({ maxPods: [{ ...type('m5.large', 20, 29), maxPods: 35 }] });
    assert.equal(code, 'TooManyPods');
    assert.match(message, /35 pods are more than m5\.large has addresses for: it holds 20/);
  });

  test('nodes that join by themselves need to be told of their cluster', () => {
    const { access: _, ...rest } = request({ starter: 'self-managed' });
    const answer = userData(rest);
    assert.ok(answer.kind === 'Refused');
    assert.equal(answer.code, 'ClusterAccessNeeded');
    assert.match(answer.fix, /aws eks describe-cluster --name prod/);
  });
});
