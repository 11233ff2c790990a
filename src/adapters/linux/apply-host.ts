// Bringing a node's own network to the desired state (datapath.md, "Host side"): what is ours is added, then pruned; what is others' stays.

import type { HostDatapath } from '../../domain/datapath/host-datapath.ts';
import { NFT_TABLE } from '../../domain/datapath/host-datapath.ts';
import { applyEniLinks } from './apply-eni-links.ts';
import { applyPods } from './apply-pods.ts';
import { applyRoutes, applyRules } from './apply-routes.ts';
import { attempt, type Changes } from './changes.ts';
import type { HostNamespace } from './host-namespace.ts';
import { KernelRefusal } from './kernel-refusal.ts';
import { listLinks } from './link.ts';
import { insideNamespace } from './namespace.ts';
import { listInetTable, replaceInetTable } from './nftables.ts';
import { readSysctl, writeSysctl } from './sysctl.ts';

/**
 * Applies all it can, so that one ENI that is just leaving does not hold up the others, and then throws what was
 * refused. Order: links before the routes through them, routes before the rules that lead to them, and the nftables
 * table, whose marks the rules answer to, last.
 */
export function applyHost(host: HostNamespace, desired: HostDatapath): readonly string[] {
  const changes: Changes = { lines: [], refusals: [] };
  // Listed once for all parts: with hundreds of pods the list is what a look costs.
  const links = listLinks(host.netlink);
  applyEniLinks(host, { desired, links }, changes);
  insideNamespace(host.namespace, () => {
    applySysctls(desired, changes);
  });
  applyRoutes(host, { desired, links }, changes);
  applyRules(host, desired, changes);
  applyPods(host, { pods: desired.pods, links }, changes);
  attempt(changes, () => {
    applyNftTable(host, desired.nftTable, changes);
  });
  throwRefusals(changes);
  return changes.lines;
}

function throwRefusals({ lines, refusals }: Changes): void {
  const [first, ...others] = refusals;
  if (first === undefined) return;
  const also = others.map(({ message }) => `; also ${message}`).join('');
  const changed = lines.length === 0 ? '' : `; changed before that: ${lines.join(', ')}`;
  throw new KernelRefusal(first.step, first.errno, `${first.detail}${also}${changed}`.replace(/^; /, ''));
}

function applySysctls(desired: HostDatapath, changes: Changes): void {
  for (const { path, value } of desired.sysctls) {
    attempt(changes, () => {
      if (readSysctl(path) === value) return;
      writeSysctl(path, value);
      changes.lines.push(`sysctl -w ${path}=${value}`);
    });
  }
}

/**
 * Replaces the table unless it is as we left it. The kernel's listing never reads like the text that was written, so
 * the comparison is with the listing taken after our own write; a new agent, which has none, writes once.
 */
function applyNftTable(host: HostNamespace, content: string, changes: Changes): void {
  insideNamespace(host.namespace, () => {
    const present = listInetTable(NFT_TABLE);
    const last = host.nftTable;
    if (last !== undefined && last.written === content && last.listed === present) return;
    replaceInetTable(NFT_TABLE, content);
    changes.lines.push(`nft replace table inet ${NFT_TABLE}`);
    const listed = listInetTable(NFT_TABLE);
    host.nftTable = listed === undefined ? undefined : { written: content, listed };
  });
}
