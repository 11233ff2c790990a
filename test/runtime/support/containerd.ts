// containerd on a test node, with root, state and socket of its own, asked through the CRI by crictl.

import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  globSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { IMAGE, makeBusyboxImage } from './busybox-image.ts';
import { eventually } from './eventually.ts';
import type { TestNode } from './node.ts';
import { buildTool } from './runtime-programs.ts';

const run = promisify(execFile);
const READY_MS = 30_000;
const CALL_MS = 60_000;
const GONE_MS = 10_000;

/** Plugins behind ours in the list, and `loopback`, which containerd runs by itself. */
const DEBIAN_PLUGINS = ['portmap', 'bandwidth', 'tuning', 'loopback'];

export interface PodOptions {
  readonly attempt?: number;
  /** Node port -> container port, TCP. */
  readonly hostPorts?: Readonly<Record<number, number>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Containerd {
  start(): Promise<void>;
  /** SIGTERM as service managers send it, or SIGKILL: pods go on. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Power off: everything that ran is gone, and what the kernel and /run held; disks stay. */
  powerOff(): Promise<void>;
  /** Runs a sandbox; answers its id. Throws with crictl's words. */
  runPod(name: string, options?: PodOptions): Promise<string>;
  /** Address of the sandbox as the CRI tells it. */
  addressOf(podId: string): Promise<string>;
  /** All addresses of the sandbox as the CRI tells them. */
  addressesOf(podId: string): Promise<readonly string[]>;
  /** Starts a container in the sandbox; answers its id. */
  runContainer(podId: string, name: string, command: readonly string[]): Promise<string>;
  /** Runs a program in a container; answers what it printed. */
  exec(containerId: string, ...command: readonly string[]): Promise<string>;
  /** StopPodSandbox and RemovePodSandbox. */
  removePod(podId: string): Promise<void>;
  /** Ids and states of all sandboxes. */
  pods(): Promise<readonly { readonly id: string; readonly state: string }[]>;
  /** The runtime's condition of that type, as kubelet reads it. */
  condition(type: 'NetworkReady'): Promise<{ readonly status: boolean; readonly message: string }>;
}

export interface ContainerdOptions {
  /** The program; Debian's unless given. */
  readonly program?: string;
  readonly cniVersion: string;
  /** Plugins after ours. */
  readonly chained: readonly Readonly<Record<string, unknown>>[];
}

export async function makeContainerd(node: TestNode, options: ContainerdOptions): Promise<Containerd> {
  const paths = layOut(node, options);
  const crictlPath = buildTool('crictl');
  let daemon: ChildProcess | undefined;
  const crictl = async (...values: readonly string[]): Promise<string> => {
    const endpoint = `unix://${paths.socket}`;
    const first = ['--runtime-endpoint', endpoint, '--image-endpoint', endpoint, '--timeout', '60s'];
    const { stdout } = await run(crictlPath, [...first, ...values], { timeout: CALL_MS });
    return stdout.trim();
  };
  const calls = podCalls(node, crictl);
  const stop = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    if (daemon === undefined) return;
    const ended = once(daemon, 'exit');
    daemon.kill(signal);
    await ended;
    daemon = undefined;
  };
  return {
    ...calls,
    start: async () => {
      daemon = spawnInside(node, options.program ?? 'containerd', ['-c', paths.config], paths.log);
      await eventually(`containerd answers; its log is ${paths.log}`, READY_MS, () =>
        crictl('version').catch(() => undefined),
      );
      // Again and again does no harm.
      await run('ctr', ['--address', paths.socket, '-n', 'k8s.io', 'images', 'import', paths.image]);
    },
    stop,
    powerOff: async () => {
      await stop('SIGKILL');
      killShims(paths.socket);
      removeShimSockets(paths.state);
      unmountAllBelow(paths.state);
      await removeCgroups(node);
      rmSync(paths.state, { recursive: true, force: true });
    },
  };
}

interface Paths {
  readonly config: string;
  readonly socket: string;
  readonly state: string;
  readonly log: string;
  readonly image: string;
}

function layOut(node: TestNode, { cniVersion, chained }: ContainerdOptions): Paths {
  const at = (name: string): string => join(node.directory, name);
  for (const name of ['image', 'net.d', 'pods']) mkdirSync(at(name), { recursive: true });
  const binDirectory = dirname(node.pluginPath);
  for (const name of DEBIAN_PLUGINS) symlinkSync(`/usr/lib/cni/${name}`, join(binDirectory, name));
  const plugins = [{ type: 'eniwhere-cni', agentSocket: node.socketPath }, ...chained];
  writeFileSync(at('net.d/10-eniwhere.conflist'), JSON.stringify({ cniVersion, name: 'eniwhere', plugins }));
  const paths: Paths = {
    config: at('containerd.toml'),
    socket: at('containerd.sock'),
    state: at('state'),
    log: at('containerd.log'),
    image: makeBusyboxImage(at('image')),
  };
  writeFileSync(paths.config, containerdConfig(node, paths));
  return paths;
}

/** https://github.com/containerd/containerd/blob/release/1.6/docs/cri/config.md */
function containerdConfig(node: TestNode, { socket, state }: Paths): string {
  return `version = 2
root = "${node.directory}/root"
state = "${state}"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${IMAGE}"
  netns_mounts_under_state_dir = true
  disable_tcp_service = true
  # Where the tests lack CAP_SYS_RESOURCE.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    # Needs nothing of the file system below.
    snapshotter = "native"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${dirname(node.pluginPath)}"
    conf_dir = "${node.directory}/net.d"
`;
}

/** Only the network is the node's: with a mount namespace of its own, the pods' namespaces could not be seen outside. */
function spawnInside(node: TestNode, program: string, values: readonly string[], log: string): ChildProcess {
  const fd = openSync(log, 'a');
  const child = spawn('nsenter', [`--net=${node.host.path}`, program, ...values], {
    stdio: ['ignore', fd, fd],
  });
  closeSync(fd);
  return child;
}

/** CRI, PodSandboxNetworkStatus. */
interface SandboxNetwork {
  readonly ip: string;
  readonly additionalIps: readonly { readonly ip: string }[];
}

function podCalls(
  node: TestNode,
  crictl: (...values: readonly string[]) => Promise<string>,
): Omit<Containerd, 'start' | 'stop' | 'powerOff'> {
  const file = (name: string, content: unknown): string => {
    const path = join(node.directory, 'pods', `${name}.json`);
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  const podFiles = new Map<string, string>();
  const networkOf = async (podId: string): Promise<SandboxNetwork> => {
    const { status } = JSON.parse(await crictl('inspectp', podId)) as { status: { network: SandboxNetwork } };
    return status.network;
  };
  return {
    runPod: async (name, { attempt = 0, hostPorts = {}, annotations = {} } = {}) => {
      const path = file(`${name}-${attempt}`, {
        metadata: { name, namespace: 'shop', uid: `uid-${name}`, attempt },
        hostname: name,
        log_directory: node.directory,
        annotations,
        port_mappings: Object.entries(hostPorts).map(([hostPort, containerPort]) => ({
          protocol: 0,
          host_port: Number(hostPort),
          container_port: containerPort,
        })),
        linux: { cgroup_parent: cgroupOf(node) },
      });
      const id = await crictl('runp', path);
      podFiles.set(id, path);
      return id;
    },
    addressOf: async (podId) => (await networkOf(podId)).ip,
    addressesOf: async (podId) => {
      const { ip, additionalIps } = await networkOf(podId);
      return [ip, ...additionalIps.map((one) => one.ip)];
    },
    runContainer: async (podId, name, command) => {
      const path = file(`container-${name}`, {
        metadata: { name },
        image: { image: IMAGE },
        command,
        log_path: `${name}.log`,
        linux: {},
      });
      const containerId = await crictl('create', podId, path, podFiles.get(podId) ?? '');
      await crictl('start', containerId);
      return containerId;
    },
    exec: (containerId, ...command) => crictl('exec', '--sync', containerId, ...command),
    removePod: async (podId) => {
      await crictl('stopp', podId);
      await crictl('rmp', '--force', podId);
    },
    pods: async () => {
      const { items } = JSON.parse(await crictl('pods', '-o', 'json')) as {
        readonly items: readonly { readonly id: string; readonly state: string }[];
      };
      return items.map(({ id, state }) => ({ id, state }));
    },
    condition: async (type) => {
      const { status } = JSON.parse(await crictl('info')) as {
        readonly status: {
          readonly conditions: readonly {
            readonly type: string;
            readonly status: boolean;
            readonly message: string;
          }[];
        };
      };
      const found = status.conditions.find((one) => one.type === type);
      if (found === undefined) throw new Error(`containerd reports no ${type}`);
      return { status: found.status, message: found.message };
    },
  };
}

/** The shims that were started for this socket, and the first processes of their containers. */
function killShims(socket: string): void {
  const { stdout } = spawnSync('pgrep', ['-f', `^/usr/bin/containerd-shim.* -address ${socket}`], {
    encoding: 'utf8',
  });
  for (const shim of stdout.split('\n').filter((line) => line !== '')) {
    const children = readFileSync(`/proc/${shim}/task/${shim}/children`, 'utf8').trim().split(' ');
    for (const pid of [shim, ...children]) if (pid !== '') process.kill(Number(pid), 'SIGKILL');
  }
}

/** All pods' cgroups are below it. */
const cgroupOf = (node: TestNode): string => `/${basename(node.directory)}`;

/** A cgroup can go when the last of its processes has ended. */
async function removeCgroups(node: TestNode): Promise<void> {
  const tops = globSync([`/sys/fs/cgroup/*${cgroupOf(node)}`, `/sys/fs/cgroup${cgroupOf(node)}`]);
  const remove = ['-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';'];
  await eventually('the cgroups are gone', GONE_MS, () => {
    const left = tops.filter((path) => existsSync(path));
    for (const path of left) spawnSync('find', [path, ...remove]);
    return left.length === 0 ? true : undefined;
  });
}

/** They lie outside the state directory; each shim's file says where. */
function removeShimSockets(state: string): void {
  for (const file of globSync(`${state}/io.containerd.runtime.v2.task/k8s.io/*/address`)) {
    rmSync(readFileSync(file, 'utf8').replace('unix://', ''), { force: true });
  }
}

function unmountAllBelow(directory: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${directory}/`));
  // The innermost first.
  for (const path of mounts.reverse()) execFileSync('umount', ['-l', path]);
}
