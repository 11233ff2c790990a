// The scenarios beside the demo, with real packets: a cluster that grows, two tenants on one node, address families.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

/** The slowest waits for cooldowns and hand-backs; the whole takes some twenty seconds. */
const TIMEOUT_MS = 240_000;

const stories: readonly [string, string][] = [
  ['[U06] [LV-5] one pod subnet per zone, then one per node group, then several by hash', 'three-stages'],
  ['[U08] [PFX-2] [PFX-4] blocks of addresses, and a subnet that is broken up', 'prefixes'],
  ['[U102] [POD-3] [POD-5] two tenants on one node, kept apart by security groups', 'two-tenants'],
  ['[IP-9] [SEL-16] [DP-5] node groups with both families, IPv6 alone and IPv4; one gains IPv6', 'families'],
];

for (const [title, name] of stories)
  test(title, () => {
    const ended = spawnSync(
      process.execPath,
      ['src/bin/eniwhere.ts', 'lab', 'run', `scenarios/${name}.yaml`, '--network', 'namespaces'],
      { encoding: 'utf8', timeout: TIMEOUT_MS },
    );
    assert.equal(ended.status, 0, ended.stdout + ended.stderr);
    assert.match(ended.stdout, /\d+ expectations: (\d+) held, 0 broken/);
  });
