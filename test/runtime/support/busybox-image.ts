// A container image made of the machine's own busybox, so that nothing has to be pulled.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { arch } from 'node:process';
import { join } from 'node:path';

export const IMAGE = 'eniwhere.test/busybox:1';

/** The applets that tests call in a pod. */
const APPLETS = ['sh', 'sleep', 'ip', 'nc', 'ping', 'httpd', 'hostname', 'cat', 'env', 'mkdir', 'printf'];

/** Lasts longer than any test. */
const SLEEP_SECONDS = '2147483647';

/** Its default command sleeps, so it serves as the sandbox image too. Answers the archive's path. */
export function makeBusyboxImage(directory: string): string {
  layOutBusybox(join(directory, 'root'));
  return packImage(directory, { name: IMAGE, env: ['PATH=/bin'], command: ['/bin/sleep', SLEEP_SECONDS] });
}

/** The folders of a root file system, and busybox under its applets' names. */
export function layOutBusybox(root: string): void {
  for (const one of ['bin', 'etc', 'tmp', 'proc', 'sys', 'dev'])
    mkdirSync(join(root, one), { recursive: true });
  copyFileSync('/bin/busybox', join(root, 'bin/busybox'));
  for (const applet of APPLETS) symlinkSync('busybox', join(root, 'bin', applet));
}

export interface ImageOptions {
  readonly name: string;
  readonly env: readonly string[];
  /** What runs unless the container says otherwise. */
  readonly command: readonly string[];
}

/**
 * Makes an image of one layer out of `root` in the directory, in `docker save`'s format
 * (https://github.com/moby/docker-image-spec), and answers the archive's path.
 */
export function packImage(directory: string, { name, env, command }: ImageOptions): string {
  const layer = join(directory, 'layer.tar');
  execFileSync('tar', ['--owner=0', '--group=0', '-C', join(directory, 'root'), '-cf', layer, '.']);
  const diffId = createHash('sha256').update(readFileSync(layer)).digest('hex');
  const config = {
    architecture: arch === 'x64' ? 'amd64' : arch,
    os: 'linux',
    config: { Env: env, Cmd: command },
    rootfs: { type: 'layers', diff_ids: [`sha256:${diffId}`] },
  };
  writeFileSync(join(directory, 'config.json'), JSON.stringify(config));
  const manifest = [{ Config: 'config.json', RepoTags: [name], Layers: ['layer.tar'] }];
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest));
  const archive = join(directory, 'image.tar');
  execFileSync('tar', ['-C', directory, '-cf', archive, 'manifest.json', 'config.json', 'layer.tar']);
  return archive;
}
