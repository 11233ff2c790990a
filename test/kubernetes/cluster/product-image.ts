// The product's container image, as the Dockerfile makes it, on a base that is made of this machine's own files.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TOP } from '../../runtime/support/skip.ts';
import { layOutBusybox, packImage } from '../../runtime/support/busybox-image.ts';

/** The chart's default is a registry's. */
export const PRODUCT_IMAGE = { repository: 'eniwhere.test/eniwhere', tag: 'e2e' };

/** Makes it in the directory and answers the archive's path. The plugin must have been built. */
export function makeProductImage(directory: string): string {
  const root = join(directory, 'root');
  mkdirSync(root, { recursive: true });
  layOutBusybox(root);
  for (const one of ['run', 'var', 'usr/bin', 'usr/local/bin', 'lib64'])
    mkdirSync(join(root, one), { recursive: true });
  symlinkSync('/run', join(root, 'var/run'));
  // The base image's Node.js.
  const node = join(root, 'usr/local/bin/node');
  copyFileSync(realpathSync(process.execPath), node);
  symlinkSync('/bin/env', join(root, 'usr/bin/env'));
  // What the package libnftables1 brings.
  const nftables = pathOfLibrary('libnftables.so.1');
  for (const library of [nftables, ...librariesOf(process.execPath), ...librariesOf(nftables)]) {
    const target = join(root, library);
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(realpathSync(library), target);
  }
  execFileSync(process.execPath, [`${TOP}scripts/build-agent.ts`], { stdio: ['ignore', 'pipe', 'inherit'] });
  execFileSync(`${TOP}scripts/lay-out-product.sh`, [root], { stdio: ['ignore', 'pipe', 'inherit'] });
  return packImage(directory, {
    name: `${PRODUCT_IMAGE.repository}:${PRODUCT_IMAGE.tag}`,
    env: ['PATH=/usr/local/bin:/bin'],
    command: ['eniwhere', '--help'],
  });
}

/** Paths of the shared libraries, the loader among them, that the dynamic linker would load. */
function librariesOf(path: string): readonly string[] {
  const printed = execFileSync('ldd', [path], { encoding: 'utf8' });
  return [...printed.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map((match) => match[1] ?? '');
}

function pathOfLibrary(library: string): string {
  const printed = execFileSync('ldconfig', ['-p'], { encoding: 'utf8', env: { PATH: '/sbin:/usr/sbin' } });
  const path = printed
    .split('\n')
    .find((line) => line.trim().startsWith(`${library} `))
    ?.split('=> ')[1];
  if (path === undefined) throw new Error(`${library} is missing: apt-get install libnftables1`);
  return path;
}
