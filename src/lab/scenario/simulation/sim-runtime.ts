// The container runtime of a simulated node, without a plugin executable; it tells the checkers what pods live.

import type { Ip } from '../../../domain/address/ip.ts';
import { parseIp } from '../../../domain/address/parse-ip.ts';
import type { NodeName } from '../../../domain/ids.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Random } from '../../../ports/random.ts';
import type { CniReply, CniRequest } from '../../../protocol/agent-socket/cni-message.ts';
import type { LiveSandbox } from '../../checkers/checker.ts';
import type { NodeProfile } from '../../faults/fault-profile.ts';
import { chance, drawBetween } from '../../kernel/draw.ts';
import type { MemoryKernel } from '../../linux/memory-kernel.ts';
import type { AddAnswer, PodRuntime, Sandbox } from '../kubelet.ts';

/** What really lives, and who hears of it. */
export interface PodRegister {
  /** containerId -> sandbox, of the whole world */
  readonly live: ReadonlyMap<string, LiveSandbox>;
  added(sandbox: LiveSandbox): void;
  /** From here on the pod is no more. */
  ending(containerId: string): void;
  broken(rule: string, what: string): void;
}

export interface SimRuntimeDeps {
  readonly node: NodeName;
  readonly clock: Clock;
  readonly random: Random;
  readonly host: MemoryKernel;
  readonly register: PodRegister;
  readonly profile: () => NodeProfile;
  /** Told of each fault, as `world.field`, when it strikes. */
  readonly struck: (fault: string) => void;
  /** Undefined: nobody answered. */
  readonly ask: (request: CniRequest) => Promise<CniReply | undefined>;
}

export interface SimRuntime extends PodRuntime {
  /** CNI GC with the sandboxes that there are. */
  collect(): Promise<void>;
}

const NOT_REACHED = { kind: 'Refused', code: 11, message: 'the agent cannot be reached' } as const;
/** How soon a runtime that gives an ADD up sends DEL. */
const EARLY_DEL_MS = { min: 0, max: 40 };

export function createSimRuntime(deps: SimRuntimeDeps): SimRuntime {
  const { host, register, random, profile, ask, clock, struck } = deps;
  /** Sandboxes of which an ADD may be under way, or has been answered, and which are not removed. */
  const known = new Map<string, Sandbox>();
  return {
    makeNamespace: (_pod, containerId) => {
      const path = `/var/run/netns/${containerId}`;
      host.makeNamespace(path);
      return Promise.resolve(path);
    },
    removeNamespace: (_pod, netnsPath) => {
      known.delete(netnsPath.slice(netnsPath.lastIndexOf('/') + 1));
      host.removeNamespace(netnsPath);
      return Promise.resolve();
    },
    add: async (sandbox) => {
      known.set(sandbox.containerId, sandbox);
      const adding = addOnce(deps, sandbox);
      if (chance(random, profile().earlyDelOdds)) {
        struck('node.earlyDelOdds');
        await clock.sleep(drawBetween(random, EARLY_DEL_MS), 'ADD given up');
        await ask(delOf(sandbox));
        return NOT_REACHED;
      }
      const answer = await adding;
      const [address, ipv6] = answer.kind === 'Added' ? answer.addresses : [];
      if (address === undefined) return answer;
      const { containerId, pod, podUid } = sandbox;
      const entry = { containerId, node: deps.node, pod, podUid, address, ...(ipv6 && { ipv6 }) };
      register.added(entry);
      if (chance(random, profile().repeatedAddOdds)) {
        struck('node.repeatedAddOdds');
        await repeatAdd(deps, entry, sandbox);
      }
      return answer;
    },
    del: async (sandbox) => {
      register.ending(sandbox.containerId);
      if (chance(random, profile().missingDelOdds)) {
        struck('node.missingDelOdds');
        return { kind: 'Deleted' };
      }
      const reply = await ask(delOf(sandbox));
      if (reply === undefined) return NOT_REACHED;
      if (reply.kind === 'Error')
        return { kind: 'Refused', code: reply.error.code, message: reply.error.msg };
      const again = chance(random, profile().repeatedAddOdds) ? await ask(delOf(sandbox)) : reply;
      if (again?.kind === 'Error' && again.error.code !== 11) {
        register.broken('CNI-2', `DEL of ${sandbox.pod}, already deleted, failed: ${again.error.msg}`);
      }
      return { kind: 'Deleted' };
    },
    collect: async () => {
      const validAttachments = [...known.values()].map(({ containerId, ifName }) => ({
        containerId,
        ifName,
      }));
      await ask({ command: 'GC', validAttachments });
    },
  };
}

const delOf = ({ containerId, ifName, netnsPath }: Sandbox): CniRequest => ({
  command: 'DEL',
  sandbox: { containerId, ifName },
  netnsPath,
});

async function addOnce({ ask }: SimRuntimeDeps, sandbox: Sandbox): Promise<AddAnswer> {
  const [namespace = '', name = ''] = sandbox.pod.split('/');
  const reply = await ask({
    command: 'ADD',
    sandbox: { containerId: sandbox.containerId, ifName: sandbox.ifName },
    netnsPath: sandbox.netnsPath,
    pod: { namespace, name, uid: sandbox.podUid },
  });
  if (reply === undefined) return NOT_REACHED;
  if (reply.kind === 'Error') return { kind: 'Refused', code: reply.error.code, message: reply.error.msg };
  const addresses = reply.kind === 'Result' ? reply.result.ips.map((one) => addressOf(one.address)) : [];
  return { kind: 'Added', addresses };
}

async function repeatAdd(deps: SimRuntimeDeps, entry: LiveSandbox, sandbox: Sandbox): Promise<void> {
  const again = await addOnce(deps, sandbox);
  const isOther = again.kind === 'Added' && again.addresses[0] !== entry.address;
  if (!isOther || !deps.register.live.has(entry.containerId)) return;
  deps.register.broken(
    'CNI-2',
    `ADD of ${entry.pod} answered ${entry.address} and then ${again.addresses[0]}`,
  );
}

/** `address/length` of a CNI result. */
function addressOf(text: string): Ip {
  const parsed = parseIp(text.slice(0, text.indexOf('/')));
  if (!parsed.ok) throw new Error(`the CNI result has no address: ${parsed.error}`);
  return parsed.value;
}
