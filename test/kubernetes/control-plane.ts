// A Kubernetes control plane for one test: etcd and the API server, and the scheduler and controllers when asked for.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../runtime/support/eventually.ts';
import { type Certificates, makeCertificates, SERVICE_BLOCK } from './certificates.ts';
import { type Daemon, startDaemon } from './daemon.ts';
import { programPath } from './programs.ts';

const READY_MS = 90_000;
const KUBECTL_MS = 60_000;
/** Lists of thousands of objects. */
const OUTPUT_BYTES_MAX = 100_000_000;

export interface ControlPlaneUser {
  readonly name: string;
  readonly groups?: readonly string[];
}

export interface ControlPlaneOptions {
  /** Also run kube-scheduler and kube-controller-manager; or the latter alone, with these of its controllers (`serviceaccount` among them). */
  readonly controllers?: boolean | readonly string[];
  /** Serve MutatingAdmissionPolicy, which is beta and off by default in 1.34. */
  readonly mutatingPolicies?: boolean;
  /** An AuthorizationConfiguration, made with the cluster's directory at hand; Node and RBAC when absent. */
  readonly authorizationConfig?: (directory: string) => string;
  /** Who may log in beside `admin`, with no rights but those that RBAC gives. */
  readonly users?: readonly ControlPlaneUser[];
  /** A namespace to run in and the address there to listen at; loopback of the test's own when absent. */
  readonly place?: { readonly netnsPath: string; readonly address: string };
}

export interface ControlPlane {
  /** For what belongs to the cluster alone; removed by `close`, unless KEEP is set. */
  readonly directory: string;
  /** https://ADDRESS:PORT, the same for as long as the control plane is not closed. */
  readonly url: string;
  /** PEM file of the authority that signed the server's certificate. */
  readonly authorityPath: string;
  /** Bearer token of `admin`, who may do everything, or of one of the users. */
  tokenOf(user: string): string;
  /** Path of a kubeconfig for `admin` or one of the users. */
  kubeconfigOf(user: string): string;
  /** Runs kubectl as admin; answers what it printed. Rejects with kubectl's words, and what it printed before. */
  kubectl(...values: readonly string[]): Promise<string>;
  /** `kubectl apply` of objects or of YAML. */
  apply(manifest: string | readonly object[]): Promise<string>;
  /** The API server alone: etcd keeps what was stored. */
  stopApiServer(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts it again, at the same port, and waits until it is ready. */
  startApiServer(): Promise<void>;
  close(): Promise<void>;
}

/** Starts it and waits until the API server is ready. Rejects with the end of the log of what failed. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const directory = mkdtempSync(join(tmpdir(), 'eniwhere-kubernetes-'));
  const address = options.place?.address ?? '127.0.0.1';
  const setup: Setup = {
    directory,
    address,
    netnsPath: options.place?.netnsPath,
    // In a namespace of its own nothing else can hold them.
    ports: options.place === undefined ? await freePorts() : { api: 6443, etcd: 2379, etcdPeer: 2380 },
    certificates: makeCertificates(directory, address),
    mutatingPolicies: options.mutatingPolicies ?? false,
    authorization: authorizationFlag(directory, options),
    tokens: new Map(
      ['admin', ...SYSTEM_USERS, ...(options.users ?? []).map(({ name }) => name)].map((name) => [
        name,
        randomBytes(16).toString('hex'),
      ]),
    ),
  };
  writeTokens(setup, options.users ?? []);
  const access = accessTo(setup);
  const daemons: Daemon[] = [startEtcd(setup)];
  let apiServer = start(setup, 'kube-apiserver', apiServerFlags(setup));
  const ready = (): Promise<unknown> =>
    eventually('the API server is ready', READY_MS, async () => {
      const why = [...daemons, apiServer].map((daemon) => daemon.whyEnded()).find((one) => one !== undefined);
      if (why !== undefined) throw new Error(why);
      return access.kubectl('get', '--raw', '/readyz').catch(() => undefined);
    });
  const close = async (): Promise<void> => {
    await Promise.all([...daemons.slice(1), apiServer].map((daemon) => daemon.stop('SIGKILL')));
    await daemons[0]?.stop('SIGKILL');
    if (process.env['KEEP'] === undefined) rmSync(directory, { recursive: true, force: true });
  };
  try {
    await ready();
    const { controllers = false } = options;
    if (controllers === true) daemons.push(start(setup, 'kube-scheduler', schedulerFlags(access)));
    if (controllers !== false) {
      const chosen = controllers === true ? [] : [`--controllers=${controllers.join(',')}`];
      const flags = [...controllerManagerFlags(setup, access), ...chosen];
      daemons.push(start(setup, 'kube-controller-manager', flags));
      // Without it no pod can be made.
      await eventually('the controllers have made the first service account', READY_MS, () =>
        access.kubectl('get', 'serviceaccount', 'default').catch(() => undefined),
      );
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    ...access,
    directory,
    stopApiServer: (signal) => apiServer.stop(signal),
    startApiServer: async () => {
      apiServer = start(setup, 'kube-apiserver', apiServerFlags(setup));
      await ready();
    },
    close,
  };
}

interface Setup {
  readonly directory: string;
  readonly address: string;
  readonly netnsPath: string | undefined;
  readonly ports: Readonly<Record<'api' | 'etcd' | 'etcdPeer', number>>;
  readonly certificates: Certificates;
  readonly mutatingPolicies: boolean;
  readonly authorization: string;
  /** User -> bearer token. */
  readonly tokens: ReadonlyMap<string, string>;
}

function authorizationFlag(directory: string, { authorizationConfig }: ControlPlaneOptions): string {
  if (authorizationConfig === undefined) return '--authorization-mode=Node,RBAC';
  const path = join(directory, 'authorization.yaml');
  writeFileSync(path, authorizationConfig(directory));
  return `--authorization-config=${path}`;
}

const SYSTEM_USERS = ['system:kube-scheduler', 'system:kube-controller-manager'];

/** https://kubernetes.io/docs/reference/access-authn-authz/authentication/#static-token-file */
function writeTokens({ directory, tokens }: Setup, users: readonly ControlPlaneUser[]): void {
  const groups = new Map<string, readonly string[]>([['admin', ['system:masters']]]);
  for (const user of users) groups.set(user.name, user.groups ?? []);
  const lines = [...tokens].map(
    ([name, token]) => `${token},${name},${name},"${(groups.get(name) ?? []).join(',')}"\n`,
  );
  writeFileSync(join(directory, 'tokens.csv'), lines.join(''), { mode: 0o600 });
}

type Access = Pick<ControlPlane, 'url' | 'authorityPath' | 'tokenOf' | 'kubeconfigOf' | 'kubectl' | 'apply'>;

function accessTo({ directory, address, netnsPath, ports, certificates, tokens }: Setup): Access {
  const url = `https://${address}:${ports.api}`;
  const tokenOf = (user: string): string => {
    const token = tokens.get(user);
    if (token === undefined) throw new Error(`the test has no user ${user}`);
    return token;
  };
  const kubeconfigOf = (user: string): string => {
    const path = join(directory, `${user.replaceAll(/[^a-z0-9-]/g, '-')}.kubeconfig`);
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority': certificates.authority } }],
      users: [{ name: user, user: { token: tokenOf(user) } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user } }],
      'current-context': 'test',
    };
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  };
  const adminConfig = kubeconfigOf('admin');
  const inside = netnsPath === undefined ? [] : ['nsenter', `--net=${netnsPath}`];
  const kubectl = (...values: readonly string[]): Promise<string> => {
    const [program = '', ...rest] = [...inside, programPath('kubectl'), ...values];
    const options = {
      env: { ...process.env, KUBECONFIG: adminConfig, HOME: directory },
      timeout: KUBECTL_MS,
      maxBuffer: OUTPUT_BYTES_MAX,
    };
    return new Promise((resolve, reject) => {
      execFile(program, rest, options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout.trim());
        // Node's own text has the whole command line in it, tokens and all.
        else reject(new Error(`kubectl ${values[0]}: ${stderr}${stdout}`.trim()));
      });
    });
  };
  let fileCount = 0;
  return {
    url,
    authorityPath: certificates.authority,
    tokenOf,
    kubeconfigOf,
    kubectl,
    apply: (manifest) => {
      fileCount += 1;
      const path = join(directory, `apply-${fileCount}.yaml`);
      writeFileSync(
        path,
        typeof manifest === 'string'
          ? manifest
          : JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifest }),
      );
      return kubectl('apply', '-f', path);
    },
  };
}

function start(setup: Setup, program: Parameters<typeof programPath>[0], flags: readonly string[]): Daemon {
  return startDaemon({
    argv: [programPath(program), ...flags],
    logPath: join(setup.directory, `${program}.log`),
    ...(setup.netnsPath !== undefined && { netnsPath: setup.netnsPath }),
  });
}

function startEtcd(setup: Setup): Daemon {
  const url = `http://127.0.0.1:${setup.ports.etcd}`;
  const peerUrl = `http://127.0.0.1:${setup.ports.etcdPeer}`;
  return start(setup, 'etcd', [
    `--data-dir=${join(setup.directory, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    // No test outlives the machine.
    '--unsafe-no-fsync',
    '--log-level=warn',
  ]);
}

/** https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/ */
function apiServerFlags({
  directory,
  address,
  ports,
  certificates,
  mutatingPolicies,
  authorization,
}: Setup): readonly string[] {
  const { server, kubeletClient, authority } = certificates;
  mkdirSync(join(directory, 'apiserver'), { recursive: true });
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    `--bind-address=${address}`,
    `--advertise-address=${address}`,
    `--secure-port=${ports.api}`,
    `--cert-dir=${join(directory, 'apiserver')}`,
    `--tls-cert-file=${server.certificate}`,
    `--tls-private-key-file=${server.key}`,
    `--client-ca-file=${authority}`,
    `--token-auth-file=${join(directory, 'tokens.csv')}`,
    `--kubelet-client-certificate=${kubeletClient.certificate}`,
    `--kubelet-client-key=${kubeletClient.key}`,
    '--kubelet-preferred-address-types=InternalIP',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${certificates.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${certificates.serviceAccountKey}`,
    `--service-cluster-ip-range=${SERVICE_BLOCK}`,
    authorization,
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    '--profiling=false',
    ...(mutatingPolicies
      ? [
          '--feature-gates=MutatingAdmissionPolicy=true',
          '--runtime-config=admissionregistration.k8s.io/v1beta1=true',
        ]
      : []),
  ];
}

const schedulerFlags = ({ kubeconfigOf }: Access): readonly string[] => [
  `--kubeconfig=${kubeconfigOf('system:kube-scheduler')}`,
  '--leader-elect=false',
  '--secure-port=0',
];

const controllerManagerFlags = ({ certificates }: Setup, { kubeconfigOf }: Access): readonly string[] => [
  `--kubeconfig=${kubeconfigOf('system:kube-controller-manager')}`,
  `--service-account-private-key-file=${certificates.serviceAccountKey}`,
  `--root-ca-file=${certificates.authority}`,
  // Each controller with the rights of its own ClusterRole.
  '--use-service-account-credentials=true',
  '--leader-elect=false',
  '--secure-port=0',
];

async function freePorts(): Promise<Setup['ports']> {
  const [api, etcd, etcdPeer] = await Promise.all([freePort(), freePort(), freePort()]);
  return { api, etcd, etcdPeer };
}

/** One that nothing listens at now; the kernel gives out others before it comes back to it. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
