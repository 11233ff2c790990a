// Makes the agent known to the container runtime: its plugin at once, its network configuration once it can serve.

import { err, ok, type Result } from '../domain/result.ts';
import {
  type ChainedPlugin,
  commonVersions,
  CONFLIST_NAME,
  PLUGIN_NAME,
  renderConflist,
} from '../protocol/cni/conflist.ts';
import type { NodeName } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventWriter } from '../ports/cluster.ts';
import type { CniHost, CniHostOutcome } from '../ports/cni-host.ts';
import type { Log } from '../ports/log.ts';
import { createWorker } from './worker.ts';

/** Looked at again this often, in case somebody took or changed it, milliseconds. */
const RESYNC_MS = 30_000;
/** Pause after a failure, such as a chained plugin that is not there yet, milliseconds. */
const RETRY_MS = 5000;

export interface CniInstallerDeps {
  readonly nodeName: NodeName;
  readonly host: CniHost;
  readonly socketPath: string;
  readonly chained: readonly ChainedPlugin[];
  readonly cluster: EventWriter;
  readonly clock: Clock;
  readonly log: Log;
  /** Resolves once ADD can be served. */
  readonly whenServing: () => Promise<void>;
}

export interface CniInstaller {
  /** Why the runtime does not know the agent (yet); undefined when it does. */
  failure(): string | undefined;
  /** Ends the loop. What is installed stays: pods that run need it for their DEL (CNI-4). */
  stop(): Promise<void>;
}

/** Looks after which the chained plugins are asked for their versions again: an hour. Each asking starts a process. */
const VERSION_LOOK_COUNT = 120;

interface InstallerState {
  /** The configuration's text as worked out last, and for how many looks it still serves. */
  text: { readonly value: string; looksLeft: number } | undefined;
  serving: boolean;
  installed: boolean;
  failure: string | undefined;
  /** Told once, until it changes. */
  told: string | undefined;
}

/** Starts the loop. */
export function startCniInstaller(deps: CniInstallerDeps): CniInstaller {
  const { clock, log } = deps;
  const state: InstallerState = {
    text: undefined,
    serving: false,
    installed: false,
    failure: 'the agent does not serve yet',
    told: undefined,
  };
  const worker = createWorker({ clock, log, label: 'cni installer', run: () => install(deps, state) });
  worker.wake();
  void deps.whenServing().then(() => {
    state.serving = true;
    worker.wake();
  });
  return { failure: () => state.failure, stop: () => worker.stop() };
}

async function install(deps: CniInstallerDeps, state: InstallerState): Promise<number | undefined> {
  const { host, log } = deps;
  const plugin = valueOf(await host.installPlugin(PLUGIN_NAME));
  if (!plugin.ok) return fail(deps, state, plugin.error);
  if (plugin.value === 'Installed') log.info('the CNI plugin is installed', { plugin: PLUGIN_NAME });
  if (!state.serving) return undefined;
  const text = await knownText(deps, state);
  if (!text.ok) return fail(deps, state, text.error);
  const present = valueOf(await host.readConfig(CONFLIST_NAME));
  if (!present.ok) return fail(deps, state, present.error);
  if (present.value !== text.value) {
    const written = valueOf(await host.writeConfig(CONFLIST_NAME, text.value));
    if (!written.ok) return fail(deps, state, written.error);
    // One that was there at the start is an older agent's; later, somebody else took or changed it.
    if (state.installed) log.mark('conflist-repaired');
    log.info('the CNI configuration is written', { file: CONFLIST_NAME, again: state.installed });
  }
  state.installed = true;
  const first = valueOf(await host.listConfigs());
  if (!first.ok) return fail(deps, state, first.error);
  const [winner] = first.value;
  if (winner !== undefined && winner !== CONFLIST_NAME) {
    return fail(
      deps,
      state,
      `${winner} comes before ${CONFLIST_NAME}, so the runtime uses that network and not Eniwhere; remove it (of the AWS CNI: eniwhere agent --clean-aws-cni)`,
    );
  }
  if (state.told !== undefined) log.info('the runtime uses Eniwhere now');
  state.failure = undefined;
  state.told = undefined;
  return RESYNC_MS;
}

async function knownText(deps: CniInstallerDeps, state: InstallerState): Promise<Result<string, string>> {
  if (state.text !== undefined && state.text.looksLeft > 0) {
    state.text.looksLeft -= 1;
    return ok(state.text.value);
  }
  const text = await conflistText(deps);
  state.text = text.ok ? { value: text.value, looksLeft: VERSION_LOOK_COUNT } : undefined;
  return text;
}

async function conflistText({
  host,
  chained,
  socketPath,
}: CniInstallerDeps): Promise<Result<string, string>> {
  const supported: (readonly string[])[] = [];
  for (const { type } of chained) {
    const versions = valueOf(await host.pluginVersions(type));
    if (!versions.ok)
      return err(
        `${versions.error}; install it on the node, or take ${type} out of ENIWHERE_CHAINED_PLUGINS`,
      );
    supported.push(versions.value);
  }
  const versions = commonVersions(supported);
  if (versions.length === 0) {
    const names = chained.map(({ type }) => type).join(', ');
    return err(`the chained plugins (${names}) speak no CNI version from 0.4.0 on in common; update them`);
  }
  return ok(renderConflist({ versions, socketPath, chained }));
}

/** Tells people once of each failure, and tries again. */
function fail({ log, cluster, nodeName }: CniInstallerDeps, state: InstallerState, why: string): number {
  state.failure = why;
  if (state.told !== why) {
    state.told = why;
    log.error('the container runtime does not use Eniwhere', { failure: why });
    cluster.emit({
      about: { kind: 'Node', name: nodeName },
      type: 'Warning',
      reason: 'CniNotInstalled',
      message: `pods of this node get no network from Eniwhere: ${why}`,
    });
  }
  return RETRY_MS;
}

function valueOf<T>(outcome: CniHostOutcome<T>): Result<T, string> {
  if (outcome.kind === 'ok') return ok(outcome.value);
  return err(outcome.kind === 'failed' ? outcome.failure.message : outcome.cause);
}
