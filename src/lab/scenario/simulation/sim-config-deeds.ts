// What people do to ENIConfigs, and to the annotations and labels that name them.

import type { NodeName, SecurityGroupId } from '../../../domain/ids.ts';
import { assert } from '../../../domain/result.ts';
import type { Clock } from '../../../ports/clock.ts';
import { isOptedOut, OPT_OUT_LABEL } from '../../checkers/opt-out-checker.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import type { SimEc2 } from '../../ec2/sim-ec2.ts';
import { chance, drawBetween, pick } from '../../kernel/draw.ts';
import type { SeededRandom } from '../../kernel/seeded-random.ts';
import type { ChoiceModel, EniConfigContent } from './sim-choice.ts';
import { TIER_LABEL, TIERS } from './sim-class-plan.ts';
import { drawMistake, specOf, togglePassingGroup } from './sim-mistakes.ts';
import type { SimVpcPlan } from './sim-vpc.ts';

const ENI_CONFIG_KEY = 'k8s.amazonaws.com/eniConfig';
const FLAPS = { min: 4, max: 12 };
const FLAP_MS = 150;
/** Of changes, those that name another subnet; the others change the groups alone. */
const OTHER_SUBNET_ODDS = 0.5;

/** Written on a node in the place of a name. */
const NONSENSE = ['', ' ', 'No Such Name'] as const;

export interface ConfigDeps {
  readonly ec2: SimEc2;
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly cluster: SimCluster;
  readonly vpc: SimVpcPlan;
  readonly choices: ChoiceModel;
  readonly tell: (text: string) => void;
}

export interface ConfigDeeds {
  annotate(): void;
  label(): void;
  flap(): void;
  toggle(): void;
  change(): void;
  rename(): void;
  /** An ENIConfig is written wrongly, or put right; a node says nonsense; a group goes, or comes back. */
  mistake(): void;
  /** A node is to be left alone, or no more. */
  optOut(): void;
}

export function configDeeds(deps: ConfigDeps): ConfigDeeds {
  const { random, cluster, vpc, clock, choices, tell } = deps;
  const configs = createConfigs(deps);
  let renameCount = 0;
  const draw = <T>(items: readonly T[]): T => pick(random, items);
  const anyGroups = (): readonly SecurityGroupId[] =>
    draw([[vpc.podsGroup], [vpc.otherPodsGroup], [vpc.podsGroup, vpc.otherPodsGroup]]);
  const someNode = (run: (node: NodeName) => void): void => {
    const nodes = cluster.admin.list('Node').map((node) => node.name);
    if (nodes.length > 0) run(draw(nodes));
  };
  const someName = (): string | undefined => draw([...configs.names(), 'missing', undefined, undefined]);
  const annotate = (node: NodeName, name: string | undefined): void => {
    if (cluster.admin.get('Node', node) === undefined) return;
    cluster.admin.setAnnotation({ kind: 'Node', name: node }, ENI_CONFIG_KEY, name);
    choices.annotate(node, name);
    tell(`node ${node} is annotated with ENIConfig ${name ?? '(none)'}`);
  };
  return {
    annotate: () => someNode((node) => annotate(node, someName())),
    label: () =>
      someNode((node) => {
        const name = someName();
        cluster.admin.setLabel({ kind: 'Node', name: node }, ENI_CONFIG_KEY, name);
        choices.label(node, name);
        tell(`node ${node} is labelled with ENIConfig ${name ?? '(none)'}`);
      }),
    flap: () =>
      someNode((node) => {
        const names = [someName(), someName()];
        const count = drawBetween(random, FLAPS);
        for (let n = 0; n < count; n += 1)
          clock.timer(n * FLAP_MS, 'flap', () => annotate(node, names[n % names.length]));
      }),
    toggle: () => {
      const name = draw(configs.names());
      if (configs.isPresent(name)) configs.remove(name);
      else configs.apply(name, configs.contentOf(name));
    },
    change: () => {
      const name = draw(configs.names());
      const { subnetId } = chance(random, OTHER_SUBNET_ODDS) ? draw(vpc.podSubnets) : configs.contentOf(name);
      if (configs.isPresent(name)) configs.apply(name, { subnetId, securityGroupIds: anyGroups() });
    },
    mistake: mistakeDeed(deps, configs, (word) => someNode((node) => annotate(node, word))),
    optOut: optOutDeed(deps),
    rename: () => {
      const name = draw(configs.names());
      if (!configs.isPresent(name)) return;
      renameCount += 1;
      const content = configs.contentOf(name);
      configs.remove(name);
      configs.apply(`${name.split('.')[0]}.${renameCount}`, content);
    },
  };
}

/** Draws what somebody gets wrong, or puts right; `annotate` writes a word on some node. */
function mistakeDeed(
  { random, ec2, vpc, choices, tell }: ConfigDeps,
  configs: Configs,
  annotate: (word: string) => void,
): () => void {
  const draws = random.fork('mistakes');
  return () => {
    if (vpc.strangers === undefined) return;
    const name = pick(draws, configs.names());
    switch (pick(draws, ['Wrong', 'Wrong', 'Wrong', 'Right', 'Right', 'Node', 'Group'] as const)) {
      case 'Wrong':
        return configs.spoil(name, drawMistake(draws, vpc.strangers, configs.contentOf(name)));
      case 'Right':
        return configs.isPresent(name) ? configs.apply(name, configs.contentOf(name)) : undefined;
      case 'Node':
        return annotate(pick(draws, NONSENSE));
      case 'Group': {
        const { passingGroupId } = vpc.strangers;
        const isThere = togglePassingGroup(ec2.admin, vpc.strangers, vpc.vpcId);
        choices.setGroup(passingGroupId, isThere);
        tell(`security group ${passingGroupId} is ${isThere ? 'there' : 'deleted'}`);
      }
    }
  };
}

function optOutDeed({ random, cluster, tell }: ConfigDeps): () => void {
  const draws = random.fork('opt out');
  return () => {
    const nodes = cluster.admin.list('Node');
    if (nodes.length === 0) return;
    const node = pick(draws, nodes);
    const isOff = isOptedOut(node);
    cluster.admin.setLabel({ kind: 'Node', name: node.name }, OPT_OUT_LABEL, isOff ? undefined : 'false');
    tell(`node ${node.name} is to be left alone${isOff ? ' no more' : ''}`);
  };
}

interface Configs {
  /** Deleted ones included. */
  names(): readonly string[];
  isPresent(name: string): boolean;
  /** What it says, or said last. */
  contentOf(name: string): EniConfigContent;
  apply(name: string, content: EniConfigContent): void;
  /** Somebody writes something else into it; what it says when it is right stays known. */
  spoil(name: string, written: unknown): void;
  remove(name: string): void;
}

/** At the start; a second name of the zone's is of another tier. */
const tierOf = (name: string): string => (name.includes('extra') ? TIERS[1] : TIERS[0]);

/** The ENIConfigs of the run that people make. */
function createConfigs({ cluster, vpc, tell }: ConfigDeps): Configs {
  const contents = new Map<string, EniConfigContent>();
  const present = new Set<string>();
  const labelsNow = (name: string): Readonly<Record<string, string>> =>
    cluster.admin.get('EniConfig', name)?.labels ?? { [TIER_LABEL]: tierOf(name) };
  const configs: Configs = {
    names: () => [...contents.keys()],
    isPresent: (name) => present.has(name),
    contentOf: (name) => {
      const content = contents.get(name);
      assert(content !== undefined, `ENIConfig ${name} has been made`);
      return content;
    },
    apply: (name, content) => {
      contents.set(name, content);
      present.add(name);
      const { subnetId, securityGroupIds } = content;
      const labels = labelsNow(name);
      const eniConfig = { name, labels, subnetId, securityGroupIds };
      cluster.admin.applyEniConfig({ name, labels, spec: { kind: 'Parsed', eniConfig } });
      tell(`ENIConfig ${name} says ${content.subnetId} with ${content.securityGroupIds.join(' and ')}`);
    },
    spoil: (name, written) => {
      if (!present.has(name)) return;
      const labels = labelsNow(name);
      cluster.admin.applyEniConfig({ name, labels, spec: specOf(name, labels, written) });
      tell(`ENIConfig ${name} says ${JSON.stringify(written)}`);
    },
    remove: (name) => {
      present.delete(name);
      cluster.admin.deleteEniConfig(name);
      tell(`ENIConfig ${name} is deleted`);
    },
  };
  for (const { eniConfig, subnetId } of vpc.podSubnets)
    configs.apply(eniConfig, { subnetId, securityGroupIds: [vpc.podsGroup] });
  return configs;
}
