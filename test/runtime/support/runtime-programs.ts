// The programs that the container runtime tests drive: Debian's, and those built from Go modules.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { TOP, whyNoNode } from './skip.ts';

/** Programs of Debian packages, by the option that makes them print a version. */
const RUNTIME_PACKAGES = [
  { program: 'containerd', option: '--version', package: 'containerd' },
  { program: 'runc', option: '--version', package: 'runc' },
  { program: 'iptables', option: '--version', package: 'iptables' },
  { program: 'busybox', option: '--help', package: 'busybox-static' },
];

/** Why there can be no container runtime here; undefined when there can. */
export function whyNoRuntime(): string | undefined {
  const why = whyNoNode();
  if (why !== undefined) return why;
  const missing = RUNTIME_PACKAGES.filter(
    ({ program, option }) => spawnSync(program, [option]).error !== undefined,
  ).map((one) => one.package);
  if (!existsSync('/usr/lib/cni/portmap')) missing.push('containernetworking-plugins');
  return missing.length === 0
    ? undefined
    : `missing: apt-get install --no-install-recommends ${missing.join(' ')}`;
}

/** Builds a tool unless it is there; answers its path. Throws with what is missing. */
export function buildTool(name: 'crictl' | 'cnitool' | 'containerd'): string {
  const built = spawnSync(`${TOP}scripts/build-tools.sh`, [name], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (built.status !== 0) throw new Error(built.stderr);
  return built.stdout.trim();
}
