// What an ENIConfig is good for: whether it can be used, who uses it, and who names it in vain.

import { listed } from './explain-node.ts';
import type { Picture } from './picture.ts';
import { replaySelection } from './replay-selection.ts';

export interface EniConfigExplanation {
  readonly kind: 'ENIConfig';
  readonly name: string;
  readonly found: boolean;
  /** What there is to say first, in a sentence. */
  readonly state: string;
  readonly subnet?: string;
  readonly zone?: string;
  readonly cidr?: string;
  readonly freeAddressCount?: number;
  /** Empty: those of each node's primary ENI. */
  readonly securityGroups: readonly string[];
  /** Nodes for which the rules give it now, each with the rule and its sentence. */
  readonly selectedBy: readonly { readonly node: string; readonly source: string; readonly reason: string }[];
  /** Nodes that a rule led here in vain, each with what is wrong. */
  readonly refusedFor: readonly { readonly node: string; readonly message: string }[];
  readonly eniCount: number;
  readonly podCount: number;
  /** ENIs made for it on nodes that use another one now: they take no new pods. */
  readonly cordonedEniCount: number;
  readonly missing: readonly string[];
}

export function explainEniConfig(picture: Picture, name: string): EniConfigExplanation {
  const view = picture.index.views.get(name);
  const enis = picture.networks.flatMap(({ spec, status }) =>
    spec.enis.filter((eni) => !eni.primary && eni.eniConfig === name).map((eni) => ({ eni, status })),
  );
  const decisions = picture.nodes.flatMap((node) => {
    const selection = replaySelection(picture, node)?.decision.selection;
    return selection === undefined ? [] : [{ node: node.name, selection }];
  });
  const common = {
    kind: 'ENIConfig' as const,
    name,
    selectedBy: decisions.flatMap(({ node, selection }) =>
      selection.kind === 'EniConfig' && selection.name === name
        ? [{ node, source: selection.source, reason: selection.reason }]
        : [],
    ),
    refusedFor: decisions.flatMap(({ node, selection }) =>
      selection.kind === 'None' && selection.reason.includes(`"${name}"`)
        ? [{ node, message: selection.message }]
        : [],
    ),
    eniCount: enis.length,
    podCount: enis.reduce(
      (sum, { eni, status }) => sum + status.used.filter(({ ip }) => eni.addresses.includes(ip)).length,
      0,
    ),
    cordonedEniCount: enis.filter(({ eni }) => eni.cordoned).length,
  };
  if (view === undefined) {
    const names = picture.eniConfigs.map((one) => one.name);
    const state = `there is no ENIConfig "${name}"; there are ${listed(names)}`;
    return { ...common, found: false, state, securityGroups: [], missing: [state] };
  }
  if (view.kind !== 'Valid') {
    const fix = view.kind === 'Invalid' && view.fix !== 'see the message' ? `; ${view.fix}` : '';
    const state =
      view.kind === 'Invalid' ? 'it cannot be used' : 'it is not known yet whether it can be used';
    return { ...common, found: true, state, securityGroups: [], missing: [`${view.message}${fix}`] };
  }
  const { eniConfig, subnet } = view;
  return {
    ...common,
    found: true,
    state: `it can be used by nodes in zone ${subnet.zone}`,
    subnet: subnet.subnetId,
    zone: subnet.zone,
    cidr: subnet.cidr,
    freeAddressCount: subnet.freeAddressCount,
    securityGroups: eniConfig.securityGroupIds,
    missing:
      subnet.freeAddressCount === 0
        ? [`subnet ${subnet.subnetId} (${subnet.cidr}) is full: new pods on its nodes wait`]
        : [],
  };
}
