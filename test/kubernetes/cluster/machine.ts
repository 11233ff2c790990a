// A node of the end-to-end test: an instance's network with a file system, processes and cgroups of its own, in which
// containerd, kubelet and kube-proxy run.

import { execFile, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Ec2Instance } from '../../../src/ports/ec2.ts';
import { IMAGE } from '../../runtime/support/busybox-image.ts';
import { eventually } from '../../runtime/support/eventually.ts';
import { buildTool } from '../../runtime/support/runtime-programs.ts';
import type { ControlPlane } from '../control-plane.ts';
import { type Daemon, startDaemon } from '../daemon.ts';
import { programPath } from '../programs.ts';

const BOOT = fileURLToPath(new URL('./boot.sh', import.meta.url));
const BOOT_MS = 20_000;
const READY_MS = 60_000;
const GONE_MS = 20_000;

export interface MachineOptions {
  readonly name: string;
  readonly instance: Ec2Instance;
  readonly netnsPath: string;
  readonly plane: ControlPlane;
  /** Archives of `docker save`'s format, to be there before anything runs. */
  readonly images: readonly string[];
}

export interface Machine {
  readonly name: string;
  readonly instance: Ec2Instance;
  /** Where the programs' logs and the node's disk are. */
  readonly directory: string;
  /** Runs a program on the node; answers what it printed. */
  run(...argv: readonly string[]): Promise<string>;
  /** Everything that runs on it ends at once, and what the kernel held is gone. */
  powerOff(): Promise<void>;
}

const run = promisify(execFile);

/** Boots it and starts kubelet, which registers the node by itself. */
export async function bootMachine(options: MachineOptions): Promise<Machine> {
  const { name, plane, netnsPath } = options;
  const directory = join(plane.directory, name);
  const disk = join(directory, 'disk');
  mkdirSync(disk, { recursive: true });
  const cgroup = `${basename(plane.directory)}-${name}`;
  makeCgroups(cgroup);
  const unshare = ['unshare', '--mount', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const init = startDaemon({
    argv: [...unshare, '--propagation', 'private', BOOT, disk, name],
    logPath: join(directory, 'boot.log'),
    netnsPath,
  });
  await eventually(`${name} has booted`, BOOT_MS, () => {
    const why = init.whyEnded();
    if (why !== undefined) throw new Error(why);
    return existsSync(join(disk, 'booted')) ? true : undefined;
  });
  const inside = insideOf(init);
  const machine: Machine = {
    name,
    instance: options.instance,
    directory,
    run: async (...argv) => {
      const [program = '', ...values] = [...inside, ...argv];
      return (await run(program, values)).stdout.trim();
    },
    powerOff: async () => {
      await init.stop('SIGKILL');
      await removeCgroups(cgroup);
    },
  };
  try {
    await startPrograms(machine, options, { inside, cgroup });
  } catch (error) {
    await machine.powerOff();
    throw error;
  }
  return machine;
}

/** How to run something in all of the node's namespaces. */
function insideOf(init: Daemon): readonly string[] {
  const [child = ''] = readFileSync(`/proc/${init.pid}/task/${init.pid}/children`, 'utf8').trim().split(' ');
  return ['nsenter', `--target=${child}`, '--net', '--mount', '--uts', '--pid', '--'];
}

interface Place {
  readonly inside: readonly string[];
  readonly cgroup: string;
}

async function startPrograms(machine: Machine, options: MachineOptions, place: Place): Promise<void> {
  const { directory, name } = machine;
  const { plane } = options;
  const start = (program: string, argv: readonly string[]): Daemon =>
    startDaemon({ argv: [...place.inside, ...argv], logPath: join(directory, `${program}.log`) });
  const file = (fileName: string, content: string): string => {
    const path = join(directory, fileName);
    writeFileSync(path, content);
    return path;
  };
  const containerd = start('containerd', [
    buildTool('containerd'),
    '--config',
    file('containerd.toml', containerdConfig()),
  ]);
  await eventually(`containerd of ${name} answers`, READY_MS, async () => {
    const why = containerd.whyEnded();
    if (why !== undefined) throw new Error(why);
    return machine.run('ctr', 'version').catch(() => undefined);
  });
  for (const image of options.images) await machine.run('ctr', '-n', 'k8s.io', 'images', 'import', image);
  start('kubelet', [
    programPath('kubelet'),
    `--config=${file('kubelet.json', JSON.stringify(kubeletConfig(options, place.cgroup)))}`,
    `--kubeconfig=${plane.kubeconfigOf(`system:node:${name}`)}`,
    `--hostname-override=${name}`,
    `--node-ip=${options.instance.primaryAddress}`,
    `--node-labels=topology.kubernetes.io/zone=${options.instance.zone},node.kubernetes.io/instance-type=${options.instance.instanceType}`,
  ]);
  const registered = eventually(`${name} is registered`, READY_MS, () =>
    plane.kubectl('get', 'node', name).catch(() => undefined),
  );
  start('kube-proxy', [
    programPath('kube-proxy'),
    `--kubeconfig=${plane.kubeconfigOf('system:kube-proxy')}`,
    `--hostname-override=${name}`,
    '--proxy-mode=nftables',
    '--conntrack-max-per-core=0',
  ]);
  await registered;
}

/** https://github.com/containerd/containerd/blob/main/docs/cri/config.md */
const containerdConfig = (): string => `version = 3
[plugins."io.containerd.cri.v1.images"]
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "${IMAGE}"
[plugins."io.containerd.cri.v1.runtime"]
  # Where the tests lack CAP_SYS_RESOURCE.
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/opt/cni/bin"]
    conf_dir = "/etc/cni/net.d"
`;

/** https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/ */
const kubeletConfig = ({ plane, instance }: MachineOptions, cgroup: string): object => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  authentication: { anonymous: { enabled: false }, x509: { clientCAFile: plane.authorityPath } },
  authorization: { mode: 'Webhook' },
  providerID: `aws:///${instance.zone}/${instance.instanceId}`,
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  cgroupDriver: 'cgroupfs',
  cgroupRoot: `/${cgroup}`,
  failCgroupV1: false,
  failSwapOn: false,
  makeIPTablesUtilChains: false,
  // A full disk of the machine is none of the test's business.
  evictionHard: { 'memory.available': '0%', 'nodefs.available': '0%', 'imagefs.available': '0%' },
  imageGCHighThresholdPercent: 100,
  nodeStatusUpdateFrequency: '2s',
  nodeStatusReportFrequency: '5s',
  // The machine's programs have no name server of their own here.
  resolvConf: '',
});

const CONTROLLERS = '/sys/fs/cgroup';

/** kubelet makes its own below; a new cgroup of cpuset has no processors until it is given some. */
function makeCgroups(cgroup: string): void {
  for (const controller of globSync(`${CONTROLLERS}/*/`)) {
    const path = join(controller, cgroup);
    if (existsSync(path) || basename(controller) === 'unified') continue;
    mkdirSync(path);
    for (const list of ['cpuset.cpus', 'cpuset.mems'])
      if (existsSync(join(path, list)))
        writeFileSync(join(path, list), readFileSync(join(controller, list), 'utf8'));
  }
}

/** A cgroup can go when the last of its processes has ended. */
async function removeCgroups(cgroup: string): Promise<void> {
  const tops = globSync(`${CONTROLLERS}/*/${cgroup}`);
  await eventually(`the cgroups of ${cgroup} are gone`, GONE_MS, () => {
    for (const path of tops.filter((one) => existsSync(one)))
      spawnSync('find', [path, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';']);
    return tops.some((path) => existsSync(path)) ? undefined : true;
  });
}
