// One simulated node: an instance, a kernel, a journal, an agent that may crash, and a kubelet with its runtime.

import type { Agent } from '../../../agent/start-agent.ts';
import { startAgent } from '../../../agent/start-agent.ts';
import type { Ip } from '../../../domain/address/ip.ts';
import { parseIp } from '../../../domain/address/parse-ip.ts';
import type { InstanceId, NodeName } from '../../../domain/ids.ts';
import type { Log } from '../../../ports/log.ts';
import type { CniReply, CniRequest } from '../../../protocol/agent-socket/cni-message.ts';
import type { Checker, LiveSandbox } from '../../checkers/checker.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import type { SimEc2 } from '../../ec2/sim-ec2.ts';
import type { FaultDial } from '../../faults/fault-profile.ts';
import { createMemoryJournal } from '../../journal/memory-journal.ts';
import { chance, drawBetween } from '../../kernel/draw.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { createMemoryKernel } from '../../linux/memory-kernel.ts';
import { createMemoryStack } from '../../linux/memory-stack.ts';
import { nftElements } from '../../linux/nft-elements.ts';
import { type AddAnswer, type DelAnswer, type PodRuntime, type Sandbox, startKubelet } from '../kubelet.ts';

export interface SimNodeDeps {
  readonly name: NodeName;
  readonly instanceId: InstanceId;
  readonly kernel: Kernel;
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  readonly dial: FaultDial;
  readonly log: Log;
  /** containerId -> sandbox, of the whole world */
  readonly live: Map<string, LiveSandbox>;
  readonly checkers: readonly Checker[];
  broken(rule: string, what: string): void;
}

export interface SimNode {
  readonly name: NodeName;
  /** SIGKILL; it is started again after a pause. */
  crashAgent(): void;
  /** Addresses that the node's kernel lets reach instance metadata. */
  imdsOpen(): readonly string[];
}

/** How long kubelet's plugin waits for the agent, and how long a DaemonSet needs to start it again. */
const RESTART_MS = { min: 200, max: 5_000 };
const CRASH_IN_REQUEST_ODDS = 0.02;
/** About as long as an ADD takes: journal, wiring in steps, answer. */
const REQUEST_MS = 8;
const NOT_REACHED = { kind: 'Refused', code: 11, message: 'the agent cannot be reached' } as const;

/** Starts the node. Its agent serves once it has read its NodeNetwork and its links are there. */
export function startSimNode(deps: SimNodeDeps): SimNode {
  const { name, kernel, cluster } = deps;
  const random = kernel.random.fork(`node/${name}`);
  const host = createMemoryKernel();
  const journal = createMemoryJournal();
  const agentName = `agent/${name}`;
  const nodeClock = kernel.clock(`node/${name}`);
  plugLinks(deps, host.plugLink, host.unplugLink);

  let agent: Promise<Agent> | undefined;
  let died = Promise.withResolvers<'died'>();
  const start = (): void => {
    died = Promise.withResolvers();
    const clock = kernel.clock(agentName);
    const refuse = () =>
      chance(random, deps.dial.profile().node.stackErrorOdds)
        ? { step: 'simulated', errno: 'ENOBUFS', message: 'the simulated kernel is out of buffers' }
        : undefined;
    agent = startAgent({
      nodeName: name,
      cluster: cluster.client({ clock }),
      stack: createMemoryStack({ kernel: host, clock, delayMs: () => 1, refuse }),
      journal: journal.open(clock),
      clock,
      random: random.fork('agent'),
      log: deps.log,
    });
  };
  const crash = (): void => {
    if (agent === undefined) return;
    agent = undefined;
    kernel.kill(agentName);
    journal.crash(chance(random, deps.dial.profile().node.tornJournalOdds));
    died.resolve('died');
    nodeClock.timer(drawBetween(random, RESTART_MS), 'agent restart', start);
  };
  const ask = async (request: CniRequest): Promise<CniReply | undefined> => {
    const now = agent;
    if (now === undefined) return undefined;
    // A request takes some milliseconds of an hour: crashes at any time would hardly ever fall between its steps.
    if (deps.dial.profile().node.agentCrashesPerHour > 0 && chance(random, CRASH_IN_REQUEST_ODDS)) {
      nodeClock.timer(drawBetween(random, { min: 0, max: REQUEST_MS }), 'crash in a request', crash);
    }
    const deadline = died.promise;
    const answer = now.then((started) => started.handleCni(request));
    const first = await Promise.race([answer, deadline]);
    return first === 'died' ? undefined : first;
  };
  start();

  const runtime = createRuntime(deps, { ask, host, random });
  startKubelet({
    node: name,
    cluster: cluster.client({ clock: nodeClock }),
    isReady: () => agent !== undefined,
    runtime,
    onGone: (pod) => {
      if (cluster.admin.get('Pod', pod)?.deleting === true) cluster.admin.deletePod(pod);
    },
    clock: nodeClock,
    random: random.fork('kubelet'),
    log: deps.log,
  });
  return {
    name,
    crashAgent: crash,
    imdsOpen: () => nftElements(host, 'imds_allowed'),
  };
}

/** ENIs appear as links late after EC2 says attached, and go at once when it says detached. */
function plugLinks(deps: SimNodeDeps, plug: (mac: string) => string, unplug: (mac: string) => boolean): void {
  const clock = deps.kernel.clock(`node/${deps.name}`);
  const random = deps.kernel.random.fork(`links/${deps.name}`);
  const isThere = (mac: string): boolean =>
    deps.ec2.truth
      .enisOf(deps.instanceId)
      .some((eni) => eni.mac === mac && eni.attachment?.status === 'attached');
  for (const eni of deps.ec2.truth.enisOf(deps.instanceId)) plug(eni.mac);
  deps.ec2.onAttachment(({ eni, attachment, status }) => {
    if (attachment.instanceId !== deps.instanceId) return;
    if (status === 'detached') unplug(eni.mac);
    if (status !== 'attached') return;
    const lateMs = drawBetween(random, { min: 0, max: deps.dial.profile().node.linkLateMaxMs });
    clock.timer(lateMs, `link ${eni.mac}`, () => {
      if (isThere(eni.mac)) plug(eni.mac);
    });
  });
}

interface RuntimeParts {
  readonly ask: (request: CniRequest) => Promise<CniReply | undefined>;
  readonly host: ReturnType<typeof createMemoryKernel>;
  readonly random: Kernel['random'];
}

/** A container runtime without a plugin executable between it and the agent; it tells the checkers what pods live. */
function createRuntime(deps: SimNodeDeps, { ask, host, random }: RuntimeParts): PodRuntime {
  const addOnce = async (sandbox: Sandbox): Promise<AddAnswer> => {
    const [namespace = '', podName = ''] = sandbox.pod.split('/');
    const reply = await ask({
      command: 'ADD',
      sandbox: { containerId: sandbox.containerId, ifName: sandbox.ifName },
      netnsPath: sandbox.netnsPath,
      pod: { namespace, name: podName, uid: sandbox.podUid },
    });
    if (reply === undefined) return NOT_REACHED;
    if (reply.kind === 'Error') return { kind: 'Refused', code: reply.error.code, message: reply.error.msg };
    const addresses = reply.kind === 'Result' ? reply.result.ips.map((one) => addressOf(one.address)) : [];
    return { kind: 'Added', addresses };
  };
  return {
    makeNamespace: (_pod, containerId) => {
      const path = `/var/run/netns/${containerId}`;
      host.makeNamespace(path);
      return Promise.resolve(path);
    },
    removeNamespace: (_pod, netnsPath) => {
      host.removeNamespace(netnsPath);
      return Promise.resolve();
    },
    add: async (sandbox) => {
      const answer = await addOnce(sandbox);
      const [address] = answer.kind === 'Added' ? answer.addresses : [];
      if (address === undefined) return answer;
      const entry = { containerId: sandbox.containerId, node: deps.name, pod: sandbox.pod, address };
      deps.live.set(sandbox.containerId, entry);
      for (const checker of deps.checkers) checker.onAdded?.(entry);
      if (chance(random, deps.dial.profile().node.repeatedAddOdds))
        await repeatAdd(deps, entry, () => addOnce(sandbox));
      return answer;
    },
    del: async (sandbox): Promise<DelAnswer> => {
      const entry = deps.live.get(sandbox.containerId);
      if (entry !== undefined) {
        deps.live.delete(sandbox.containerId);
        for (const checker of deps.checkers) checker.onDeleting?.(entry);
      }
      const request: CniRequest = {
        command: 'DEL',
        sandbox: { containerId: sandbox.containerId, ifName: sandbox.ifName },
        netnsPath: sandbox.netnsPath,
      };
      const reply = await ask(request);
      if (reply === undefined) return NOT_REACHED;
      if (reply.kind === 'Error')
        return { kind: 'Refused', code: reply.error.code, message: reply.error.msg };
      const again = chance(random, deps.dial.profile().node.repeatedAddOdds) ? await ask(request) : reply;
      if (again?.kind === 'Error' && again.error.code !== 11) {
        deps.broken('CNI-2', `DEL of ${sandbox.pod}, already deleted, failed: ${again.error.msg}`);
      }
      return { kind: 'Deleted' };
    },
  };
}

async function repeatAdd(
  deps: SimNodeDeps,
  entry: LiveSandbox,
  addOnce: () => Promise<AddAnswer>,
): Promise<void> {
  const again = await addOnce();
  if (again.kind === 'Added' && again.addresses[0] !== entry.address && deps.live.has(entry.containerId)) {
    deps.broken('CNI-2', `ADD of ${entry.pod} answered ${entry.address} and then ${again.addresses[0]}`);
  }
}

/** `address/length` of a CNI result. */
function addressOf(text: string): Ip {
  const parsed = parseIp(text.slice(0, text.indexOf('/')));
  if (!parsed.ok) throw new Error(`the CNI result has no address: ${parsed.error}`);
  return parsed.value;
}
