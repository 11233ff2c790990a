// What nodes make of each ENIConfig: kept node by node, since with thousands of them it cannot be counted anew for each.

import type { EniConfigUse } from '../domain/eniconfig/class-strategy.ts';
import type { NodeName } from '../domain/ids.ts';
import { currentEniConfig } from '../domain/ipam/current-eni-config.ts';
import type { ClusterView } from './cluster-view.ts';

/** What one node adds to the use of the ENIConfig that it has, or will have. */
interface Share {
  readonly eniConfig: string;
  readonly pendingCount: number;
}

export interface EniConfigUses {
  /**
   * The ENIConfig of the node as decided by this process just now. Nodes that come up together are decided together, long
   * before the first of their choices is published: without this all of them would take the same subnet.
   */
  decided(node: NodeName, eniConfig: string): void;
  /** The node is gone, and what was decided for it. */
  forget(node: NodeName): void;
  /** ENIConfig -> what all nodes but this one make of it. */
  besides(node: NodeName): ReadonlyMap<string, EniConfigUse>;
}

/** Addresses that a node is expected to take first, while it has no ENI of its choice yet: about a small ENI. */
const FIRST_ADDRESS_COUNT = 10;

/** The only reader of `touchedNodes`. */
export function createEniConfigUses(cluster: ClusterView): EniConfigUses {
  const decisions = new Map<string, string>(); // node -> ENIConfig
  const shares = new Map<string, Share>(); // node -> what is in `totals` of it
  const totals = new Map<string, EniConfigUse>();

  const count = ({ eniConfig, pendingCount }: Share, sign: 1 | -1): void => {
    const before = totals.get(eniConfig) ?? NO_USE;
    const nodeCount = before.nodeCount + sign;
    if (nodeCount === 0) totals.delete(eniConfig);
    else totals.set(eniConfig, { nodeCount, pendingCount: before.pendingCount + sign * pendingCount });
  };
  const shareOf = (node: string): Share | undefined => {
    if (!cluster.nodes.has(node)) return undefined;
    const spec = cluster.nodeNetworks.get(node)?.spec;
    const eniConfig = decisions.get(node) ?? currentEniConfig(spec);
    if (eniConfig === undefined) return undefined;
    const hasStarted = spec?.enis.some((eni) => eni.eniConfig === eniConfig) ?? false;
    return { eniConfig, pendingCount: hasStarted ? 0 : FIRST_ADDRESS_COUNT };
  };
  const catchUp = (): void => {
    for (const node of cluster.touchedNodes) {
      const before = shares.get(node);
      if (before !== undefined) count(before, -1);
      const after = shareOf(node);
      if (after === undefined) shares.delete(node);
      else {
        shares.set(node, after);
        count(after, 1);
      }
    }
    cluster.touchedNodes.clear();
  };
  return {
    decided: (node, eniConfig) => {
      if (decisions.get(node) === eniConfig) return;
      decisions.set(node, eniConfig);
      cluster.touchedNodes.add(node);
    },
    forget: (node) => {
      if (decisions.delete(node)) cluster.touchedNodes.add(node);
      catchUp();
    },
    besides: (node) => {
      catchUp();
      const own = shares.get(node);
      const others = new Map(totals);
      const use = own === undefined ? undefined : others.get(own.eniConfig);
      if (own === undefined || use === undefined) return others;
      if (use.nodeCount === 1) others.delete(own.eniConfig);
      else {
        const pendingCount = use.pendingCount - own.pendingCount;
        others.set(own.eniConfig, { nodeCount: use.nodeCount - 1, pendingCount });
      }
      return others;
    },
  };
}

const NO_USE: EniConfigUse = { nodeCount: 0, pendingCount: 0 };
