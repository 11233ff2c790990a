// Whether a node can give pods the addresses that its selection says: before that a startup taint keeps them away.

import { emptyStatus, type NodeNetworkSpec, type NodeNetworkStatus, type SpecEni } from './node-network.ts';
import type { Mode } from './mode.ts';
import { hasIpTargets, warmPrefixTarget, type WarmTargets } from './warm-targets.ts';
import { podAddressing } from './pod-addresses.ts';

/** `because` is a sentence without its full stop: what is still missing. */
export type NetworkServes = { readonly serves: true } | { readonly serves: false; readonly because: string };

export interface PublishedNetwork {
  readonly spec: NodeNetworkSpec;
  readonly status?: NodeNetworkStatus;
  /** metadata.generation of the spec. */
  readonly generation: number;
}

/**
 * The agent must have acted on this very spec and say that it serves, and an ENI of the selection must hold an address for
 * a pod. With warm targets of nothing at all no address can be there before a pod is, so the ENI is not waited for.
 */
export function networkServes(
  { spec, status = emptyStatus, generation }: PublishedNetwork,
  targets: WarmTargets,
): NetworkServes {
  const { selection } = spec;
  if (selection.kind === 'None') return not(`no ENIConfig is selected: ${selection.message}`);
  if (status.observedGeneration !== generation) return not('the agent has not acted on the newest spec yet');
  const ready = status.conditions.find(({ type }) => type === 'AgentReady');
  if (ready?.status !== 'True')
    return not(`the agent does not serve yet: ${ready?.message ?? 'it is silent'}`);
  if (!keepsWarm(targets, spec.mode)) return { serves: true };
  const has = spec.enis.some(
    (eni) => isOfSelection(eni, spec) && holdsAddress(eni, spec.addressFamilies, status),
  );
  return has ? { serves: true } : not('no ENI of the selection holds an address for a pod yet');
}

const not = (because: string): NetworkServes => ({ serves: false, because });

function keepsWarm(targets: WarmTargets, mode: Mode): boolean {
  const { warmIp = 0, minimumIp = 0, warmEni } = targets;
  if (hasIpTargets(targets)) return warmIp + minimumIp > 0;
  return mode === 'Prefix' ? warmPrefixTarget(targets) > 0 : warmEni > 0;
}

function isOfSelection(eni: SpecEni, { selection }: NodeNetworkSpec): boolean {
  if (selection.kind === 'None' || eni.primary || eni.cordoned) return false;
  const name = selection.kind === 'EniConfig' ? selection.name : '';
  return eni.eniConfig === name && eni.subnetId === selection.subnetId;
}

/** One that a pod has already counts too: the node has served. */
const holdsAddress = (
  eni: SpecEni,
  families: NodeNetworkSpec['addressFamilies'],
  { withdrawn }: NodeNetworkStatus,
): boolean =>
  (podAddressing(eni, families)?.granted ?? []).some(
    (ip) => !eni.withdrawing.includes(ip) && !withdrawn.includes(ip),
  );
