// The programs of a Kubernetes cluster that the tests run, built from their Go modules.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const BUILD = fileURLToPath(new URL('build-programs.sh', import.meta.url));

type Program =
  | 'etcd'
  | 'kube-apiserver'
  | 'kubectl'
  | 'kube-scheduler'
  | 'kube-controller-manager'
  | 'kubelet'
  | 'kube-proxy'
  | 'helm';

const built = new Map<Program, string>();

/** Builds a program unless it is there, which takes minutes; answers its path. Throws with what is missing. */
export function programPath(program: Program): string {
  const known = built.get(program);
  if (known !== undefined) return known;
  const { status, stdout, stderr, error } = spawnSync(BUILD, [program], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (status !== 0) throw new Error(error?.message ?? stderr);
  const path = `${stdout.trim()}/${program}`;
  built.set(program, path);
  return path;
}
