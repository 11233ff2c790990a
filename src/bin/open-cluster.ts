// The cluster that a kubeconfig names, for commands that only read.

import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createKubernetesCluster } from '../adapters/kubernetes/create-kubernetes-cluster.ts';
import { kubeconfigConnection } from '../adapters/kubernetes/kubeconfig.ts';
import { systemClock } from '../adapters/system/clock.ts';
import { systemRandom } from '../adapters/system/random.ts';
import type { ClusterAccess, ClusterRequest } from '../cli/context.ts';
import { ok, type Result } from '../domain/result.ts';
import type { Log } from '../ports/log.ts';

export async function openClusterHere(
  request: ClusterRequest,
  version: string,
): Promise<Result<ClusterAccess, string>> {
  const named = request.kubeconfig ?? process.env['KUBECONFIG'] ?? '';
  const paths =
    named === '' ? [join(homedir(), '.kube', 'config')] : named.split(delimiter).filter((one) => one !== '');
  const chosen = await kubeconfigConnection({
    paths,
    ...(request.context === undefined ? {} : { context: request.context }),
    clock: systemClock,
    env: process.env,
  });
  if (!chosen.ok) return chosen;
  let trouble: string | undefined;
  const opened = createKubernetesCluster({
    connection: chosen.value.connection,
    clock: systemClock,
    random: systemRandom,
    log: noticing((cause) => {
      trouble = cause;
    }),
    fieldManager: 'eniwhere-cli',
    reportingInstance: 'eniwhere',
    version,
  });
  return ok({ cluster: opened.cluster, trouble: () => trouble, close: () => opened.close() });
}

/** A command speaks by its answer: of the log it only keeps why the last thing went wrong. */
function noticing(notice: (cause: string) => void): Log {
  const nothing = (): void => undefined;
  const keep: Log['warn'] = (message, fields) => {
    const { cause, fix } = fields ?? {};
    const texts = [cause, fix].filter((one) => typeof one === 'string');
    notice(texts.length === 0 ? message : texts.join('; '));
  };
  return { debug: nothing, info: nothing, warn: keep, error: keep, mark: nothing };
}
