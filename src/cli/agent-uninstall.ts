// `eniwhere agent --uninstall`: takes the plugin away from the runtime, and leaves pods' networking alone.

import { CONFLIST_NAME, PLUGIN_NAME } from '../protocol/cni/conflist.ts';
import type { CniHostOutcome } from '../ports/cni-host.ts';
import type { AgentNode } from './agent-node.ts';
import { type CliContext, EXIT } from './context.ts';

/** Whatever the prefix of our pods' links is: pods are known by their routes. */
const ANY_PREFIX = 'eni';
const LISTED_COUNT_MAX = 10;

/**
 * First the configuration, so that the runtime starts no pod with a plugin that goes; then the plugin. Refused while an
 * agent runs, which would put both back, and, without `force`, while pods live: their DEL needs the plugin.
 */
export async function uninstallAgent(
  { cni, stack, isAgentRunning }: AgentNode,
  { write, complain }: Pick<CliContext, 'write' | 'complain'>,
  force: boolean,
): Promise<number> {
  if (await isAgentRunning()) {
    complain(
      'the agent runs on this node and would put everything back; delete its DaemonSet (or keep it off this node) first\n',
    );
    return EXIT.broken;
  }
  const links = await stack.listPodLinks(ANY_PREFIX);
  if (links.kind !== 'ok') {
    const why = links.kind === 'failed' ? links.failure.message : links.cause;
    complain(`whether pods live here cannot be told: ${why}\n`);
    if (!force) return EXIT.broken;
  } else {
    const addresses = links.value.filter(({ hostLink }) => hostLink !== '').flatMap((one) => one.addresses);
    if (addresses.length > 0 && !force) {
      const some = addresses.slice(0, LISTED_COUNT_MAX).join(', ');
      complain(
        `${addresses.length} pods of Eniwhere live on this node (${some}${addresses.length > LISTED_COUNT_MAX ? ', ...' : ''}), and the runtime needs the plugin to delete them; drain the node, or give --force\n`,
      );
      return EXIT.broken;
    }
    if (addresses.length > 0) write(`${addresses.length} pods live on; they keep their network\n`);
  }
  const steps: readonly (readonly [string, CniHostOutcome<boolean>])[] = [
    [CONFLIST_NAME, await cni.removeConfig(CONFLIST_NAME)],
    [PLUGIN_NAME, await cni.removePlugin(PLUGIN_NAME)],
  ];
  let exitCode: number = EXIT.ok;
  for (const [name, outcome] of steps) {
    if (outcome.kind === 'ok') write(outcome.value ? `removed ${name}\n` : `${name} was not there\n`);
    else {
      complain(
        `${name} is not removed: ${outcome.kind === 'failed' ? outcome.failure.message : outcome.cause}\n`,
      );
      exitCode = EXIT.broken;
    }
  }
  write('rules, routes and the nftables table of Eniwhere stay until the node restarts; they harm nobody\n');
  return exitCode;
}
