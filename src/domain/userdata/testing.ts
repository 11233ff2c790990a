// Reads boot documents back as the node would: MIME, shell, YAML and TOML.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cidr } from '../address/testing.ts';
import type { AddressRow, ClusterAccess, TypeMaxPods, UserDataDocument, UserDataRequest } from './request.ts';
import { userData } from './user-data.ts';

export interface ReadPart {
  readonly contentType: string;
  readonly body: string;
}

/** RFC 2046, as far as user data goes: the boundary of the header, parts with headers, the closing line. */
export function readMime(text: string): readonly ReadPart[] {
  const boundary = /^Content-Type: multipart\/mixed; boundary="([^"]+)"$/m.exec(text)?.[1];
  assert.ok(boundary !== undefined && text.startsWith('MIME-Version: 1.0\n'), text);
  const [, ...rest] = text.split(`\n--${boundary}`);
  assert.match(rest.at(-1) ?? '', /^--\n?$/);
  return rest.slice(0, -1).map((part) => {
    const [headers = '', ...body] = part.slice(1).split('\n\n');
    const contentType = /^Content-Type: ([^;\n]+)/m.exec(headers)?.[1];
    assert.ok(contentType !== undefined, part);
    return { contentType, body: body.join('\n\n') };
  });
}

/** What bash prints, after it found nothing wrong with the script's syntax. */
export function runBash(script: string, args: readonly string[] = []): string {
  const checked = spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' });
  assert.equal(checked.status, 0, checked.stderr);
  const ran = spawnSync('bash', ['-s', '--', ...args], { input: script, encoding: 'utf8' });
  assert.equal(ran.status, 0, ran.stderr);
  return ran.stdout;
}

export const access: ClusterAccess = {
  name: 'prod',
  endpoint: 'https://ABC.gr7.eu-west-1.eks.amazonaws.com',
  certificateAuthority: 'Y2VydGlmaWNhdGU=',
  serviceCidr: '10.100.0.0/16',
};

export const type = (instanceType: string, maxPods: number, unaware: number): TypeMaxPods => ({
  instanceType,
  maxPods,
  possible: maxPods,
  unaware,
});

export const row = (block: string, ...eniConfigs: readonly string[]): AddressRow => ({
  nodeCidr: cidr(block),
  eniConfigs,
});

export function request(with_: Partial<UserDataRequest>): UserDataRequest {
  return {
    os: 'al2023',
    starter: 'managed-with-ami',
    clusterName: 'prod',
    access,
    maxPods: [type('m5.large', 20, 29)],
    labels: new Map(),
    startupTaint: false,
    byAddress: [],
    labelKey: 'k8s.amazonaws.com/eniConfig',
    ...with_,
  };
}

export function documentOf(with_: Partial<UserDataRequest>): UserDataDocument {
  const answer = userData(request(with_));
  assert.ok(answer.kind === 'Document', JSON.stringify(answer));
  return answer;
}
