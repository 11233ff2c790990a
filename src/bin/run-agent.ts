// The agent as a daemon: its ports made, its parts started, its servers opened.

import { createKubernetesCluster } from '../adapters/kubernetes/create-kubernetes-cluster.ts';
import { inClusterConnection } from '../adapters/kubernetes/in-cluster-connection.ts';
import { createLinuxStacks } from '../adapters/linux/linux-stacks.ts';
import { peerUid } from '../adapters/linux/peer-uid.ts';
import { serveAgentSocket } from '../adapters/system/agent-socket.ts';
import { systemClock } from '../adapters/system/clock.ts';
import { createCniHost } from '../adapters/system/cni-host.ts';
import { createFileJournal } from '../adapters/system/file-journal.ts';
import { type HttpRoutes, serveLocalHttp } from '../adapters/system/local-http.ts';
import { createLog } from '../adapters/system/log.ts';
import { createPrometheusMetrics, type PrometheusMetrics } from '../adapters/system/prometheus-metrics.ts';
import { systemRandom } from '../adapters/system/random.ts';
import { countMarks, measureRequests, observeAgent } from '../agent/agent-metrics.ts';
import { agentRoutes } from '../agent/agent-routes.ts';
import type { AgentSettings, ParsedAgentSettings } from '../agent/agent-settings.ts';
import { startAwsCniWatch } from '../agent/aws-cni-watch.ts';
import { startCniInstaller } from '../agent/cni-installer.ts';
import { type Agent, startAgent } from '../agent/start-agent.ts';
import type { BindAddress } from '../domain/bind-address.ts';
import type { Log } from '../ports/log.ts';

export interface RunAgentOptions extends ParsedAgentSettings {
  readonly version: string;
  readonly pluginSource: string;
  readonly whenInterrupted: Promise<void>;
}

/**
 * Runs until interrupted. What pods and runtime need of it stays: links, routes, the plugin and its configuration.
 * Rejects when it cannot begin: another agent has the socket, for one.
 */
export async function runAgent(options: RunAgentOptions): Promise<void> {
  const metrics = createPrometheusMetrics();
  const { settings, version } = options;
  const log = countMarks(
    metrics,
    createLog({ level: settings.logLevel, fd: 1, fields: { component: 'agent' } }),
  );
  for (const warning of options.warnings) log.warn(warning);
  log.info('the agent starts', { version, ...settings });
  const closers: Closer[] = [];
  try {
    await start({ ...options, metrics, log, closers });
    await options.whenInterrupted;
    log.info('the agent stops; pods keep their network, and the plugin and its configuration stay');
  } finally {
    // Last opened, first closed; also what was opened before something failed.
    for (const close of closers.reverse()) await close();
  }
}

type Closer = () => Promise<void> | void;

interface StartOptions extends RunAgentOptions {
  readonly metrics: PrometheusMetrics;
  readonly log: Log;
  /** Gets what is to be closed, in the order of opening. */
  readonly closers: Closer[];
}

async function start({
  settings,
  version,
  pluginSource,
  metrics,
  log,
  closers,
}: StartOptions): Promise<void> {
  const [clock, random] = [systemClock, systemRandom];
  const { nodeName, addWaitMs, socketPath } = settings;
  // First of all, because two agents must not share a journal: the second one ends here.
  const { promise: started, resolve: nowStarted } = Promise.withResolvers<Agent>();
  const handle = measureRequests(metrics, clock, async (request) => (await started).handleCni(request));
  const socket = await serveAgentSocket(socketPath, handle, { log, peerUid });
  closers.push(() => socket.close());
  const kubernetes = connect(settings, version, log);
  closers.push(() => kubernetes.close());
  const { cluster } = kubernetes;
  const stacks = createLinuxStacks();
  closers.push(() => stacks.close());
  const stack = stacks.open({ netnsPath: settings.netnsPath });
  const journal = createFileJournal(settings.journalPath);
  const agent = await startAgent({ nodeName, cluster, stack, journal, clock, random, log, addWaitMs });
  closers.push(() => agent.stop());
  nowStarted(agent);
  const common = { nodeName, cluster, clock, log };
  const awsCni = startAwsCniWatch({ ...common, finder: stack, vethPrefix: settings.awsCniVethPrefix });
  closers.push(() => awsCni.stop());
  const installer = startCniInstaller({
    ...common,
    host: createCniHost({ ...settings, pluginSource }),
    socketPath,
    chained: settings.chained,
    whenServing: () => agent.whenServing(),
  });
  closers.push(() => installer.stop());
  observeAgent(metrics, { describe: () => agent.describe(), awsCni: () => awsCni.report(), version });
  const routes = agentRoutes({ describe: () => agent.describe(), notInstalled: () => installer.failure() });
  for (const [address, served] of [
    [settings.introspection, routes],
    [settings.metrics, metricsRoutes(metrics)],
  ] as const) {
    const server = await serve(address, served, log);
    if (server !== undefined) closers.push(() => server.close());
  }
}

function connect(
  settings: AgentSettings,
  version: string,
  log: Log,
): ReturnType<typeof createKubernetesCluster> {
  const { apiServer, serviceAccountDirectory: directory, nodeName } = settings;
  return createKubernetesCluster({
    connection: inClusterConnection({
      ...apiServer,
      clock: systemClock,
      ...(directory !== undefined && { directory }),
    }),
    clock: systemClock,
    random: systemRandom,
    log,
    fieldManager: 'eniwhere-agent',
    reportingInstance: nodeName,
    version,
  });
}

const metricsRoutes = (metrics: PrometheusMetrics): HttpRoutes =>
  new Map([
    ['/metrics', async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() })],
  ]);

/** A port that is taken is no reason for pods to get no network: it is told, and the agent goes on without. */
async function serve(
  address: BindAddress | undefined,
  routes: HttpRoutes,
  log: Log,
): Promise<{ close(): Promise<void> } | undefined> {
  if (address === undefined) return undefined;
  const server = await serveLocalHttp({ address, routes, log });
  if (server.ok) return server.value;
  log.error('a local HTTP server cannot be opened; the agent goes on without it', { failure: server.error });
  return undefined;
}
