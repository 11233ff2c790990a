// Makes the namespaces equal to the truth: nodes, ENI links, the router's routes and rules. One pass at a time.

import type { InstanceId } from '../../domain/ids.ts';
import { ok } from '../../domain/result.ts';
import type { Log } from '../../ports/log.ts';
import type { EniLink, EniLinks } from './eni-links.ts';
import type { FabricResult } from './fabric-failure.ts';
import type { NamespaceNames } from './namespace-names.ts';
import { addNamespaces, removeNamespaces } from './namespaces.ts';
import { routerRules } from './router-rules.ts';
import {
  desiredRouter,
  EMPTY_ROUTER,
  primaryEniCommands,
  type RouterState,
  routerChange,
} from './router-state.ts';
import { removeWithIp, runIp, runProgram } from './run-program.ts';
import { isAlive, type VpcTruth, type VpcView } from './vpc-truth.ts';

export interface VpcSyncOptions {
  readonly truth: VpcTruth;
  readonly names: NamespaceNames;
  readonly links: EniLinks;
  readonly log: Log;
  /** The instance is gone, and its namespace with it. */
  readonly onNodeRemoved: (instanceId: InstanceId) => Promise<FabricResult<void>>;
}

export interface VpcSync {
  /** One pass. Whatever fails is done again by the next one. Not to be called while one runs. */
  pass(): Promise<FabricResult<void>>;
  hasNode(instanceId: InstanceId): boolean;
}

export function createVpcSync(options: VpcSyncOptions): VpcSync {
  const { truth, names, links, log } = options;
  const nodes = new Set<InstanceId>();
  let router = EMPTY_ROUTER;
  let rules = '';

  const addNodes = async (view: VpcView): Promise<FabricResult<void>> => {
    const missing = view.instances.filter(isAlive).filter(({ instanceId }) => !nodes.has(instanceId));
    const added = await addNamespaces(missing.map(({ instanceId }) => names.node(instanceId)));
    if (added.ok) for (const { instanceId } of missing) nodes.add(instanceId);
    return added;
  };
  const removeNodes = async (view: VpcView): Promise<FabricResult<void>> => {
    const alive = new Set(view.instances.filter(isAlive).map(({ instanceId }) => instanceId));
    for (const instanceId of nodes) {
      if (alive.has(instanceId)) continue;
      const removed = await removeNamespaces([names.node(instanceId)]);
      if (!removed.ok) return removed;
      nodes.delete(instanceId);
      const told = await options.onNodeRemoved(instanceId);
      if (!told.ok) return told;
    }
    return ok(undefined);
  };
  const loadRules = async (view: VpcView): Promise<FabricResult<void>> => {
    const wanted = routerRules(view);
    if (wanted === rules) return ok(undefined);
    const loaded = await runProgram({
      argv: ['ip', 'netns', 'exec', names.router, 'nft', '-f', '-'],
      input: wanted,
    });
    if (!loaded.ok) return loaded;
    rules = wanted;
    return ok(undefined);
  };
  const changeRouter = async (view: VpcView): Promise<FabricResult<void>> => {
    const plugged = links.observe(view);
    const want = desiredRouter(view, plugged);
    const { removals, remaining, added, changes } = routerChange({ have: router, want, plugged }, names.node);
    const removed = await removeWithIp(names.router, removals);
    if (!removed.ok) return removed;
    router = remaining;
    const changed = await plugIn(names, view, { added, changes });
    // Whatever of the new links is there already is unplugged by the next pass, which then begins them anew.
    router = changed.ok ? want : withSuspects(remaining, added);
    if (changed.ok) for (const link of added) links.appeared(link);
    return changed;
  };
  const renameLinks = async (): Promise<void> => {
    for (const { appearsAs, nodeLink, instanceId } of links.takeRenames()) {
      const renamed = await runIp(names.node(instanceId), [`link set dev ${appearsAs} name ${nodeLink}`]);
      // udev gives up likewise: kernels before 6.2 rename no link that somebody has set up already.
      if (!renamed.ok) log.warn('a link keeps its passing name', { cause: renamed.error.message });
    }
  };

  return {
    pass: async () => {
      const view = truth.read();
      // Rules before links: no packet ever meets a link without its rules.
      for (const step of [addNodes, loadRules, changeRouter, removeNodes]) {
        const result = await step(view);
        if (!result.ok) return result;
      }
      await renameLinks();
      return ok(undefined);
    },
    hasNode: (instanceId) => nodes.has(instanceId),
  };
}

async function plugIn(
  names: NamespaceNames,
  view: VpcView,
  { added, changes }: { readonly added: readonly EniLink[]; readonly changes: readonly string[] },
): Promise<FabricResult<void>> {
  const changed = await runIp(names.router, changes);
  if (!changed.ok) return changed;
  const results = await Promise.all(
    added
      .filter(({ isPrimary }) => isPrimary)
      .map((link) => runIp(names.node(link.instanceId), primaryEniCommands(link, view))),
  );
  return results.find((result) => !result.ok) ?? ok(undefined);
}

/** A state in which the links are of no attachment that exists, so that they are removed first. */
const withSuspects = (state: RouterState, links: readonly EniLink[]): RouterState => ({
  ...state,
  links: new Map([...state.links, ...links.map(({ routerLink }) => [routerLink, undefined] as const)]),
});
