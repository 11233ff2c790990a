// Explanations for people.

import type { EniConfigExplanation } from '../domain/explain/explain-eni-config.ts';
import { type AddressExplanation, choiceText, type NodeExplanation } from '../domain/explain/explain-node.ts';
import type { PodExplanation } from '../domain/explain/explain-pod.ts';
import type { Palette } from '../lab/scenario/report.ts';
import { columns } from './columns.ts';

export type Explanation = NodeExplanation | PodExplanation | EniConfigExplanation;

export function explanationText(explanation: Explanation, palette: Palette): readonly string[] {
  switch (explanation.kind) {
    case 'Node':
      return nodeText(explanation, palette);
    case 'Pod':
      return podText(explanation, palette);
    case 'ENIConfig':
      return eniConfigText(explanation, palette);
  }
}

function nodeText(found: NodeExplanation, palette: Palette): readonly string[] {
  const { name, instanceType, zone, selection, tried, addresses, conditions } = found;
  if (!found.found) return found.missing;
  const facts = [instanceType, zone, found.className === undefined ? undefined : `class ${found.className}`];
  return [
    `${palette.strong(`node ${name}`)}  ${facts.filter((one) => one !== undefined).join(', ')}`,
    ...(selection === undefined
      ? []
      : [
          '',
          `${palette.strong('ENIConfig')}: ${selection.kind === 'None' ? palette.bad('none') : choiceText(selection)}`,
          ...tried.map(
            ({ rule, matched, detail }) =>
              `  ${matched ? palette.good('>') : palette.quiet('-')} ${rule.padEnd(RULE_WIDTH)}  ${detail}`,
          ),
        ]),
    ...familiesText(found, palette),
    ...(addresses === undefined ? [] : ['', ...addressesText(addresses, palette)]),
    ...(conditions.length === 0
      ? []
      : [
          '',
          palette.strong('Conditions'),
          ...columns(
            conditions.map((one) => [
              `  ${one.type}`,
              one.status === 'True' ? palette.good(one.status) : palette.bad(one.status),
              one.reason,
              // What is wrong stands below, with what to do.
              one.status === 'False' ? '' : one.message,
            ]),
          ),
        ]),
    ...section('Missing', found.missing, palette),
    ...section('Next', nextText(found), palette),
  ];
}

const familiesText = (
  { addressFamilies, addressFamiliesBy }: NodeExplanation,
  palette: Palette,
): readonly string[] =>
  addressFamilies === undefined
    ? []
    : [
        '',
        `${palette.strong('Address families')}: ${addressFamilies.join(' and ')}, by ${addressFamiliesBy}`,
      ];

function nextText({ next, missing }: NodeExplanation): readonly string[] {
  if (next.length > 0) return next;
  return [missing.length === 0 ? 'nothing: the node is at rest' : 'nothing, until what is missing is there'];
}

const RULE_WIDTH = 'CustomNetworkingOff'.length;

function section(title: string, lines: readonly string[], palette: Palette): readonly string[] {
  return lines.length === 0 ? [] : ['', palette.strong(title), ...lines.map((line) => `  ${line}`)];
}

function addressesText(found: AddressExplanation, palette: Palette): readonly string[] {
  const { heldCount, usedCount, coolingCount, freeCount, waiting, maxPods, target, enis } = found;
  return [
    `${palette.strong('Addresses')}: ${heldCount} held: ${usedCount} used, ${coolingCount} cooling, ${freeCount} free for new pods; ${waiting.length} pods wait; max pods ${maxPods}`,
    `  ${target}`,
    ...(enis.length === 0 ? [] : eniTable(enis)),
    ...(waiting.length === 0 ? [] : [`  waiting: ${waiting.slice(0, 8).join(', ')}`]),
  ];
}

function eniTable(enis: AddressExplanation['enis']): readonly string[] {
  return columns(
    [
      ['  ENI', 'ENICONFIG', 'SUBNET', 'ADDRESSES', 'USED', ''],
      ...enis.map((eni) => [
        `  ${eni.eniId}`,
        eni.eniConfig === '' ? "the node's own subnet" : eni.eniConfig,
        eni.subnet,
        String(eni.addressCount),
        String(eni.usedCount),
        [
          ...(eni.takesPods ? [] : ['takes no new pods']),
          ...(eni.withdrawingCount > 0 ? [`${eni.withdrawingCount} being withdrawn`] : []),
        ].join(', '),
      ]),
    ],
    new Set([3, 4]),
  );
}

function podText(found: PodExplanation, palette: Palette): readonly string[] {
  const { name, state, eni, missing, next, node } = found;
  return [
    `${palette.strong(`pod ${name}`)}: ${state}`,
    ...(eni === undefined
      ? []
      : [
          `  ENI ${eni.eniId}, ${eni.eniConfig === '' ? "of the node's own subnet" : `made for ENIConfig "${eni.eniConfig}"`}`,
          `  subnet ${eni.subnet} (${eni.subnetCidr}), security groups ${eni.securityGroups.join(', ')}`,
        ]),
    ...(found.choice !== undefined && 'eniConfig' in found.choice
      ? [`  it asked for its own ENIConfig, and was given "${found.choice.eniConfig}"`]
      : []),
    ...(found.address === undefined
      ? section('Missing', missing, palette)
      : missing.map((one) => `  ${one}`)),
    ...(next.length === 0 ? [] : section('Next', next, palette)),
    ...(node === undefined ? [] : ['', nodeLine(node)]),
  ];
}

function nodeLine({ name, selection }: NodeExplanation): string {
  const choice =
    selection === undefined
      ? 'nothing is known of its selection'
      : `${choiceText(selection)}, by rule ${selection.source}`;
  return `node ${name}: ${choice}; more: eniwhere explain node ${name}`;
}

function eniConfigText(found: EniConfigExplanation, palette: Palette): readonly string[] {
  if (!found.found) return found.missing;
  const { name, state, subnet, cidr, zone, freeAddressCount, securityGroups, selectedBy, refusedFor } = found;
  return [
    `${palette.strong(`ENIConfig ${name}`)}: ${state}`,
    ...(subnet === undefined
      ? []
      : [
          `  subnet ${subnet} (${cidr}, ${zone}): ${freeAddressCount} addresses free`,
          `  security groups: ${securityGroups.length === 0 ? "those of each node's primary ENI" : securityGroups.join(', ')}`,
        ]),
    `  ${found.eniCount} ENIs with ${found.podCount} pods${found.cordonedEniCount > 0 ? `, ${found.cordonedEniCount} of them on nodes that use another one now` : ''}`,
    ...section(
      `Selected for ${selectedBy.length} nodes`,
      selectedBy.map((one) => `${one.node}  ${one.source}: ${one.reason}`),
      palette,
    ),
    ...section(
      'In vain for',
      refusedFor.map((one) => `${one.node}  ${one.message}`),
      palette,
    ),
    ...section('Missing', found.missing, palette),
  ];
}
