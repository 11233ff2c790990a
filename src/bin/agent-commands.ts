// `eniwhere agent` on this machine.

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createLinuxStacks } from '../adapters/linux/linux-stacks.ts';
import { createCniHost } from '../adapters/system/cni-host.ts';
import { tarGz } from '../adapters/system/tar-gz.ts';
import { isAnswered } from '../adapters/system/unix-socket.ts';
import { type HostSettings, parseAgentSettings, parseHostSettings } from '../agent/agent-settings.ts';
import type { AgentCommands, AgentNode } from '../cli/agent-node.ts';
import { EXIT } from '../cli/context.ts';
import { err, ok, type Result } from '../domain/result.ts';
import { bundleParts } from './bundle-parts.ts';
import { runAgent } from './run-agent.ts';

export interface AgentMachine {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly complain: (text: string) => void;
  readonly whenInterrupted: Promise<void>;
}

/** The plugin of the same build, beside the sources. */
const PLUGIN = fileURLToPath(new URL('../../build/eniwhere-cni', import.meta.url));
const BUNDLE_MODE = 0o600;

export function agentCommands(machine: AgentMachine): AgentCommands {
  const { env, version, complain } = machine;
  return {
    run: async () => {
      const parsed = parseAgentSettings(env);
      if (!parsed.ok) {
        for (const mistake of parsed.error) complain(`${mistake}\n`);
        return EXIT.usage;
      }
      const pluginSource = parsed.value.settings.pluginSource ?? PLUGIN;
      if (!existsSync(pluginSource)) {
        complain(
          `${pluginSource} is missing: set ENIWHERE_PLUGIN_SOURCE, or build it with npm run build:cni\n`,
        );
        return EXIT.usage;
      }
      try {
        await runAgent({ ...parsed.value, ...machine, pluginSource });
        return EXIT.ok;
      } catch (error) {
        complain(`the agent cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
        return EXIT.broken;
      }
    },
    openNode: async ({ logPaths }) => {
      const settings = parseHostSettings(env);
      return settings.ok ? ok(openNode(settings.value, { env, version, logPaths })) : settings;
    },
  };
}

interface NodeOptions extends Pick<AgentMachine, 'env' | 'version'> {
  readonly logPaths: readonly string[];
}

function openNode(settings: HostSettings, options: NodeOptions): AgentNode {
  const stacks = createLinuxStacks();
  const stack = stacks.open({ netnsPath: settings.netnsPath });
  return {
    cni: createCniHost({ ...settings, pluginSource: settings.pluginSource ?? PLUGIN }),
    awsCni: stack,
    awsCniVethPrefix: settings.awsCniVethPrefix,
    stack,
    isAgentRunning: () => isAnswered(settings.socketPath),
    bundleParts: bundleParts({ ...options, settings, stack }),
    writeBundle: async (path, files): Promise<Result<void, string>> => {
      try {
        const archive = tarGz(files, Math.floor(Date.now() / 1000));
        await writeFile(path, archive, { mode: BUNDLE_MODE });
        return ok(undefined);
      } catch (error) {
        return err(error instanceof Error ? error.message : String(error));
      }
    },
    close: () => stacks.close(),
  };
}
