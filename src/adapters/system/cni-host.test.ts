// The runtime's folders on a real file system.

import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { CniHost, CniHostOutcome } from '../../ports/cni-host.ts';
import { createCniHost } from './cni-host.ts';

interface Folders {
  readonly host: CniHost;
  readonly bin: string;
  readonly config: string;
  readonly source: string;
}

async function withFolders(body: (folders: Folders) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'eniwhere-cni-host-'));
  const [bin, config, source] = ['bin', 'net.d', 'plugin'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  try {
    await mkdir(bin);
    await mkdir(config);
    await writeFile(source, 'plugin 1');
    const host = createCniHost({ pluginDirectory: bin, configDirectory: config, pluginSource: source });
    await body({ host, bin, config, source });
  } finally {
    await rm(directory, { recursive: true });
  }
}

function valueOf<T>(outcome: CniHostOutcome<T>): T {
  assert.ok(outcome.kind === 'ok', JSON.stringify(outcome));
  return outcome.value;
}

const messageOf = (outcome: CniHostOutcome<unknown>): string => {
  assert.ok(outcome.kind === 'failed', JSON.stringify(outcome));
  return outcome.failure.message;
};

/** A program that prints what it is told to. */
async function writePlugin(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

describe("the node's CNI folders", () => {
  test('a configuration is written for all to read, with nothing left beside it', async () => {
    await withFolders(async ({ host, config }) => {
      assert.equal(valueOf(await host.readConfig('a.conflist')), undefined);
      valueOf(await host.writeConfig('a.conflist', 'one'));
      valueOf(await host.writeConfig('a.conflist', 'two'));
      assert.equal(valueOf(await host.readConfig('a.conflist')), 'two');
      assert.deepEqual(await readdir(config), ['a.conflist']);
      assert.equal((await stat(join(config, 'a.conflist'))).mode & 0o777, 0o644);
      assert.deepEqual(
        [valueOf(await host.removeConfig('a.conflist')), valueOf(await host.removeConfig('a.conflist'))],
        [true, false],
      );
    });
  });

  test('configurations are listed as runtimes see them', async () => {
    await withFolders(async ({ host, config }) => {
      for (const name of [
        '10-b.conflist',
        '10-B.conf',
        '9-a.json',
        'README',
        '.10-a.conflist.1.new',
        'x.conf.bak',
      ])
        await writeFile(join(config, name), '');
      assert.deepEqual(valueOf(await host.listConfigs()), ['10-B.conf', '10-b.conflist', '9-a.json']);
    });
  });

  test('the plugin is installed for all to run, and again only when it differs', async () => {
    await withFolders(async ({ host, bin, source }) => {
      const path = join(bin, 'p');
      assert.equal(valueOf(await host.installPlugin('p')), 'Installed');
      assert.equal((await stat(path)).mode & 0o777, 0o755);
      const { ino } = await stat(path);
      assert.equal(valueOf(await host.installPlugin('p')), 'Same');
      assert.equal((await stat(path)).ino, ino);
      for (const harm of [
        () => writeFile(path, 'plugin 2'),
        () => writeFile(path, 'longer than the plugin'),
        () => chmod(path, 0o644),
        () => rm(path),
      ]) {
        await harm();
        assert.equal(
          valueOf(await host.installPlugin('p')) === 'Installed' || (await stat(path)).ino === ino,
          true,
        );
        assert.equal(await readFile(path, 'utf8'), await readFile(source, 'utf8'));
        assert.equal((await stat(path)).mode & 0o777, 0o755);
      }
      assert.deepEqual(await readdir(bin), ['p']);
    });
  });

  test('another agent, started later, finds the same plugin the same', async () => {
    await withFolders(async ({ host, bin, config, source }) => {
      valueOf(await host.installPlugin('p'));
      const next = createCniHost({ pluginDirectory: bin, configDirectory: config, pluginSource: source });
      assert.equal(valueOf(await next.installPlugin('p')), 'Same');
      await writeFile(source, 'plugin 9');
      const upgraded = createCniHost({ pluginDirectory: bin, configDirectory: config, pluginSource: source });
      assert.equal(valueOf(await upgraded.installPlugin('p')), 'Installed');
    });
  });

  test('a folder that is not there is told with its path, and not made: it may be a mount that is missing', async () => {
    await withFolders(async ({ host, bin, config }) => {
      await rm(bin, { recursive: true });
      await rm(config, { recursive: true });
      assert.match(messageOf(await host.installPlugin('p')), /ENOENT.*bin/);
      assert.match(messageOf(await host.writeConfig('a.conf', '')), /ENOENT.*net\.d/);
      assert.match(messageOf(await host.listConfigs()), /ENOENT.*net\.d/);
    });
  });

  for (const { title, script, expected } of [
    {
      title: 'tells its versions',
      script: `[ "$CNI_COMMAND" = VERSION ] && echo '{"cniVersion":"1.0.0","supportedVersions":["0.4.0","1.0.0"]}'`,
      expected: ['0.4.0', '1.0.0'],
    },
    { title: 'prints nonsense', script: 'echo nonsense', expected: /does not tell its versions/ },
    { title: 'prints other JSON', script: `echo '{"code":4}'`, expected: /does not tell its versions/ },
    { title: 'fails', script: 'exit 3', expected: /fails: / },
  ] as const) {
    test(`a chained plugin that ${title}`, async () => {
      await withFolders(async ({ host, bin }) => {
        await writePlugin(join(bin, 'portmap'), script);
        const outcome = await host.pluginVersions('portmap');
        if (expected instanceof RegExp) assert.match(messageOf(outcome), expected);
        else assert.deepEqual(valueOf(outcome), expected);
      });
    });
  }

  test('a chained plugin that is not there is named', async () => {
    await withFolders(async ({ host }) => {
      assert.match(
        messageOf(await host.pluginVersions('portmap')),
        /the CNI plugin \S+bin\/portmap is not there/,
      );
    });
  });
});
