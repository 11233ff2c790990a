// The controller as a daemon: its ports made, the lease contended for, and a controller for each term.

import { createAwsEc2 } from '../adapters/aws/create-aws-ec2.ts';
import { createKubernetesCluster } from '../adapters/kubernetes/create-kubernetes-cluster.ts';
import { inClusterConnection } from '../adapters/kubernetes/in-cluster-connection.ts';
import { createKubernetesLeaseStore } from '../adapters/kubernetes/kubernetes-lease-store.ts';
import { systemClock } from '../adapters/system/clock.ts';
import { type HttpAnswer, serveLocalHttp } from '../adapters/system/local-http.ts';
import { createLog } from '../adapters/system/log.ts';
import { createPrometheusMetrics } from '../adapters/system/prometheus-metrics.ts';
import { systemRandom } from '../adapters/system/random.ts';
import { fencedEc2 } from '../controller/fenced-ec2.ts';
import { startLeading } from '../controller/lead.ts';
import type { ProcessSettings } from '../controller/process-settings.ts';
import { type ControllerFacts, observeController } from '../controller/controller-metrics.ts';
import { type Controller, startController } from '../controller/start-controller.ts';
import { LEASE_TIMES } from '../domain/leadership/lease.ts';
import type { Term } from '../ports/leadership.ts';
import type { Log } from '../ports/log.ts';
import { randomHex } from '../ports/random.ts';

export interface RunControllerOptions {
  readonly settings: ProcessSettings;
  readonly version: string;
  readonly whenInterrupted: Promise<void>;
}

/** Bound to this name in the controller's Role. */
const LEASE_NAME = 'eniwhere-controller';
const FIELD_MANAGER = 'eniwhere-controller' as const;
const IDENTITY_DIGITS = 8;

/** Runs until interrupted: then ends the calls under way and gives the lease up. Pods keep their network. */
export async function runController({
  settings,
  version,
  whenInterrupted,
}: RunControllerOptions): Promise<void> {
  const [clock, random] = [systemClock, systemRandom];
  const { apiServer, serviceAccountDirectory: directory, podName, podNamespace } = settings;
  const log = createLog({ level: settings.logLevel, fd: 1, fields: { component: 'controller' } });
  log.info('the controller starts', { version, ...settings });
  const connection = inClusterConnection({
    ...apiServer,
    clock,
    ...(directory !== undefined && { directory }),
  });
  const common = { connection, clock, random, fieldManager: FIELD_MANAGER, version };
  const kubernetes = createKubernetesCluster({ ...common, log, reportingInstance: podName });
  const store = createKubernetesLeaseStore({ ...common, namespace: podNamespace, name: LEASE_NAME });
  const { ec2Endpoint: endpoint } = settings;
  const ec2 = createAwsEc2({ version, ...(endpoint === undefined ? {} : { endpoint }) });
  let term: { readonly held: Term; readonly controller: Controller } | undefined;
  const server = await serveMeasurements(settings, log, () =>
    term?.held.isHeld() === true ? term.controller.facts() : undefined,
  );
  const leading = startLeading({
    store,
    clock,
    log,
    // A pod's name outlives its process.
    identity: `${podName}_${randomHex(random, IDENTITY_DIGITS)}`,
    times: LEASE_TIMES,
    start: (held) => {
      const controller = startController({
        cluster: kubernetes.cluster,
        ec2: fencedEc2(ec2, held),
        clock,
        random,
        log,
        settings: settings.controller,
      });
      term = { held, controller };
      return controller;
    },
  });
  await whenInterrupted;
  log.info('the controller stops: it ends its calls and gives the lease up');
  await leading.stop();
  await server?.close();
  store.close();
  kubernetes.close();
}

/** A replica that waits for the lease is ready, too: it is there to take over. */
async function serveMeasurements(
  { metrics: address }: ProcessSettings,
  log: Log,
  facts: () => ControllerFacts | undefined,
): Promise<{ close(): Promise<void> } | undefined> {
  const metrics = createPrometheusMetrics();
  observeController(metrics, facts);
  const fine = (): HttpAnswer => ({ status: 200, body: '"ok"\n' });
  const server = await serveLocalHttp({
    address,
    log,
    routes: new Map<string, () => HttpAnswer | Promise<HttpAnswer>>([
      [
        '/metrics',
        async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() }),
      ],
      ['/healthz', fine],
      ['/readyz', fine],
    ]),
  });
  if (server.ok) return server.value;
  log.error('measurements cannot be served; the controller goes on without', { failure: server.error });
  return undefined;
}
