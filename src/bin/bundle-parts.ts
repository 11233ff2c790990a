// What a support bundle is made of on this node.

import { readdir, readFile, stat, open } from 'node:fs/promises';
import { request } from 'node:http';
import { arch, cpus, freemem, release, totalmem, uptime, version as kernelVersion } from 'node:os';
import { join } from 'node:path';
import type { LinuxStack } from '../adapters/linux/linux-stacks.ts';
import { summarizeJournal } from '../adapters/system/journal-summary.ts';
import type { HostSettings } from '../agent/agent-settings.ts';
import type { BundlePart } from '../cli/agent-node.ts';
import type { BindAddress } from '../domain/bind-address.ts';
import { CONFLIST_NAME } from '../protocol/cni/conflist.ts';

export interface BundleSources {
  readonly version: string;
  readonly settings: HostSettings;
  readonly stack: LinuxStack;
  readonly logPaths: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Only variables of ours, and of the AWS CNI: the rest of an environment is nobody's business. */
const OUR_VARIABLE =
  /^(ENIWHERE_|AWS_VPC_|ENI_CONFIG_|WARM_|ENABLE_|DISABLE_|HOST_CNI_|MY_NODE_NAME$|MINIMUM_IP_TARGET$|MAX_ENI$|IP_COOLDOWN_PERIOD$|INTROSPECTION_BIND_ADDRESS$|CLUSTER_ENDPOINT$|CLUSTER_NAME$|KUBERNETES_SERVICE_)/;
const PATHS = [
  '/readyz',
  '/v1/snapshot',
  '/v1/enis',
  '/v1/eni-configs',
  '/v1/pods',
  '/v1/networkutils-env-settings',
  '/v1/ipamd-env-settings',
];
const ANSWER_MS = 3000;
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const LOG_BYTES = 512 * 1024;
/** Where kubelet keeps the logs of pods; ours are found by name. */
const POD_LOGS = '/var/log/pods';
const LOG_COUNT_MAX = 6;

export function bundleParts(sources: BundleSources): readonly BundlePart[] {
  const { settings, stack } = sources;
  return [
    { name: 'versions.txt', read: () => versions(sources.version) },
    { name: 'settings.txt', read: async () => settingsText(sources) },
    ...PATHS.map((path) => ({
      name: `agent${path.replaceAll('/', '-')}.txt`,
      read: () => ask(settings.introspection, path),
    })),
    { name: 'metrics.txt', read: () => ask(settings.metrics, '/metrics') },
    { name: 'journal.txt', read: () => summarizeJournal(settings.journalPath) },
    {
      name: 'network.txt',
      read: async () => {
        const outcome = await stack.describeNetwork();
        if (outcome.kind === 'ok') return outcome.value;
        throw new Error(outcome.kind === 'failed' ? outcome.failure.message : outcome.cause);
      },
    },
    { name: 'sysctls.txt', read: sysctls },
    { name: 'cni.txt', read: () => cniFolders(settings) },
    { name: 'logs.txt', read: () => logs(sources.logPaths) },
  ];
}

async function versions(version: string): Promise<string> {
  const osRelease = await readFile('/etc/os-release', 'utf8').catch(String);
  return [
    `eniwhere ${version}`,
    `node ${process.version}`,
    `kernel ${release()} ${kernelVersion()} ${arch()}`,
    `up ${Math.round(uptime())} s, ${cpus().length} processors, ${totalmem()} bytes of memory, ${freemem()} free`,
    `os as this process sees it:`,
    osRelease,
  ].join('\n');
}

function settingsText({ settings, env }: BundleSources): string {
  const variables = Object.entries(env)
    .filter(([name]) => OUR_VARIABLE.test(name))
    .map(([name, value]) => `${name}=${value ?? ''}`);
  return `${JSON.stringify(settings, undefined, 2)}\n\n${variables.sort().join('\n')}\n`;
}

/** GET from the agent that runs here. */
function ask(address: BindAddress | undefined, path: string): Promise<string> {
  if (address === undefined) return Promise.reject(new Error('it is switched off by the settings'));
  const where =
    address.kind === 'Unix'
      ? { socketPath: address.path }
      : { host: address.host ?? '127.0.0.1', port: address.port };
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...where, path, timeout: ANSWER_MS }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
        if (body.length > ANSWER_BYTES_MAX) outgoing.destroy(new Error('its answer is endless'));
      });
      response.once('error', reject);
      response.once('end', () => resolve(`${response.statusCode}\n${body}`));
    });
    outgoing.once('timeout', () => outgoing.destroy(new Error(`it does not answer within ${ANSWER_MS} ms`)));
    outgoing.once('error', reject);
    outgoing.end();
  });
}

async function sysctls(): Promise<string> {
  const read = async (path: string): Promise<string> => {
    const value = await readFile(join('/proc/sys', path), 'utf8').catch(String);
    return `${path} = ${value.trim()}`;
  };
  const links = await readdir('/proc/sys/net/ipv4/conf');
  const lines = await Promise.all([
    read('net/ipv4/ip_forward'),
    read('net/ipv6/conf/all/forwarding'),
    ...links.map((link) => read(`net/ipv4/conf/${link}/rp_filter`)),
  ]);
  return `${lines.join('\n')}\n`;
}

/** Names and sizes; of the configurations, ours in full. */
async function cniFolders({ configDirectory, pluginDirectory }: HostSettings): Promise<string> {
  const list = async (folder: string): Promise<string> => {
    const names = await readdir(folder);
    const lines = await Promise.all(
      names.sort().map(async (name) => {
        const { size, mtime } = await stat(join(folder, name));
        return `  ${name} ${size} bytes, ${mtime.toISOString()}`;
      }),
    );
    return [folder, ...lines].join('\n');
  };
  const missing = (error: unknown): string => `could not be read: ${String(error)}`;
  return [
    await list(configDirectory).catch(missing),
    await readFile(join(configDirectory, CONFLIST_NAME), 'utf8').catch(missing),
    await list(pluginDirectory).catch(missing),
    '',
  ].join('\n');
}

async function logs(given: readonly string[]): Promise<string> {
  const paths = [...given, ...(await ownLogs())];
  if (paths.length === 0) return `none found in ${POD_LOGS}; give them with --log\n`;
  const tails = await Promise.all(
    paths.map(async (path) => `# ${path}\n${await tail(path).catch((error: unknown) => String(error))}\n`),
  );
  return tails.join('\n');
}

async function ownLogs(): Promise<readonly string[]> {
  // A node without the folder, or where it is not mounted, has none.
  const names = await readdir(POD_LOGS, { recursive: true }).catch((): string[] => []);
  return names
    .filter((name) => /eniwhere/.test(name) && name.endsWith('.log'))
    .slice(0, LOG_COUNT_MAX)
    .map((name) => join(POD_LOGS, name));
}

async function tail(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - LOG_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
