// Which subnet and groups a node should get, by a model that shares no line with the product's selection.

import { rendezvousChoice } from '../../../domain/eniconfig/rendezvous-hash.ts';
import { CLASS_LABEL } from '../../../domain/eniconfig/select-by-class.ts';
import type { NodeName, SecurityGroupId, SubnetId } from '../../../domain/ids.ts';
import type { Wish } from '../../checkers/pod-wishes.ts';
import type { Place, SelectionModel, TaggedClass } from '../../checkers/selection-checker.ts';
import type { EniConfigRecord } from '../../../ports/cluster.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import { type ClassPlan, TIER_LABEL } from './sim-class-plan.ts';
import { type Families, IPV4_ONLY, type SimFamilies } from './sim-families.ts';
import type { SimVpcPlan, Zone } from './sim-vpc.ts';
import { createSpans, type Spans } from './spans.ts';

/** What an ENIConfig says. */
export interface EniConfigContent {
  readonly subnetId: SubnetId;
  readonly securityGroupIds: readonly SecurityGroupId[];
}

/** What a person wrote on a node; undefined: nothing. */
interface NodeWords {
  readonly annotation: string | undefined;
  readonly label: string | undefined;
  readonly pool: string | undefined;
}

export interface ChoiceModel extends SelectionModel {
  /** `address`: of its primary ENI. */
  addNode(node: NodeName, zone: Zone, address: string): void;
  /** The Node object is gone, with what people wrote on it. */
  forgetWords(node: NodeName): void;
  annotate(node: NodeName, eniConfig: string | undefined): void;
  label(node: NodeName, eniConfig: string | undefined): void;
  pool(node: NodeName, pool: string | undefined): void;
  /** `undefined`: deleted. */
  setClass(name: string, plan: ClassPlan | undefined): void;
  /** The class whose subnet it is, by its tag. */
  tagSubnet(subnetId: SubnetId, className: string | undefined): void;
  /** What controllers that start from now on are told. */
  setClusterFamilies(families: Families): void;
  setIpv6Block(subnetId: SubnetId, hasBlock: boolean): void;
  /** The group is there, or not. */
  setGroup(groupId: SecurityGroupId, isThere: boolean): void;
}

/** An ENIConfig as it lies in the API server; of a malformed one its name and its labels. */
interface Config {
  readonly name: string;
  readonly content: EniConfigContent | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

interface Model {
  readonly vpc: SimVpcPlan;
  readonly now: () => number;
  readonly zones: Map<NodeName, Zone>;
  readonly addresses: Map<NodeName, string>;
  readonly words: Spans<NodeWords>;
  readonly classes: Spans<ClassPlan>;
  readonly configs: Spans<Config>;
  readonly tags: Spans<string>;
  readonly groups: Spans<true>;
  /** Of the whole cluster, by the one name there is. */
  readonly families: Spans<Families>;
  /** Subnets that have an IPv6 block. */
  readonly ipv6Blocks: Spans<true>;
}

const CLUSTER = 'cluster';

export interface ChoiceModelDeps {
  readonly vpc: SimVpcPlan;
  readonly cluster: SimCluster;
  /** As they are at the start. */
  readonly families: SimFamilies;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** As things are at the start. */
function createModel({ vpc, cluster, families: atStart, now }: ChoiceModelDeps): Model {
  const configs = createSpans<Config>(now);
  const follow = ({ name, labels, spec }: EniConfigRecord, isThere: boolean): void => {
    const content = spec.kind === 'Parsed' ? contentOf(spec.eniConfig) : undefined;
    const config = isThere ? { name, labels, content } : undefined;
    // Most changes are of the status.
    if (JSON.stringify(config) !== JSON.stringify(configs.now(name))) configs.set(name, config);
  };
  for (const record of cluster.admin.list('EniConfig')) follow(record, true);
  cluster.admin.onChange((change) => {
    if (change.kind === 'EniConfig') follow(change.object, change.type === 'Applied');
  });
  const groups = createSpans<true>(now);
  for (const id of vpc.groups.keys()) groups.set(id, true);
  const [families, ipv6Blocks] = [createSpans<Families>(now), createSpans<true>(now)];
  families.set(CLUSTER, atStart.cluster());
  for (const subnetId of [...vpc.nodeSubnets.values(), ...vpc.podSubnets.map((one) => one.subnetId)])
    if (atStart.hasBlockAtStart(subnetId)) ipv6Blocks.set(subnetId, true);
  return {
    vpc,
    now,
    zones: new Map(),
    addresses: new Map(),
    words: createSpans(now),
    classes: createSpans(now),
    tags: createSpans(now),
    configs,
    groups,
    families,
    ipv6Blocks,
  };
}

export function createChoiceModel(deps: ChoiceModelDeps): ChoiceModel {
  const model = createModel(deps);
  const { now, zones, addresses, words, classes, configs, tags, groups, families, ipv6Blocks } = model;
  const write = (node: NodeName, change: Partial<NodeWords>): void =>
    words.set(node, {
      ...(words.now(node) ?? { annotation: undefined, label: undefined, pool: undefined }),
      ...change,
    });
  return {
    nodes: () => [...zones.keys()],
    addNode: (node, zone, address) => {
      zones.set(node, zone);
      addresses.set(node, address);
      write(node, {});
    },
    forgetWords: (node) => write(node, { annotation: undefined, label: undefined, pool: undefined }),
    annotate: (node, annotation) => write(node, { annotation }),
    label: (node, label) => write(node, { label }),
    pool: (node, pool) => write(node, { pool }),
    setClass: (name, plan) => classes.set(name, plan),
    tagSubnet: (subnetId, className) => tags.set(subnetId, className),
    setClusterFamilies: (chosen) => families.set(CLUSTER, chosen),
    setIpv6Block: (subnetId, hasBlock) => ipv6Blocks.set(subnetId, hasBlock ? true : undefined),
    setGroup: (groupId, isThere) => groups.set(groupId, isThere ? true : undefined),
    possiblePlaces: (node, lagMs) => possiblePlaces(model, node, now() - lagMs),
    chosenPlaces: (node, wishes, lagMs) =>
      configs
        .since(now() - lagMs)
        .filter((config) => wishes.some((wish) => meets(config, wish)))
        .flatMap((config) => placesOf(model, node, config, now() - lagMs)),
    rightPlaces: (node) => rightPlaces(model, node),
    mayKeep: (node, lagMs) =>
      plansFor(model, node, now() - lagMs).some(({ onEniConfigChange }) => onEniConfigChange === 'Keep'),
    familiesOf: (node) => familiesOf(model, node),
    possibleFamilies: (node, lagMs) => possibleFamilies(model, node, now() - lagMs),
    strategyOf: (node) => soundClassOf(model, node)?.strategy,
    modeOf: (node) => soundClassOf(model, node)?.mode,
    warmIpOf: (node) => soundClassOf(model, node)?.warmIp,
    hasTag: (subnetId, className, lagMs) => tags.since(now() - lagMs, subnetId).includes(className),
    taggedClasses: () => taggedClasses(model),
  };
}

function taggedClasses({ vpc, classes, tags }: Model): readonly TaggedClass[] {
  return classes.names().flatMap((name) => {
    const plan = classes.now(name);
    if (plan?.malformed !== undefined) return [];
    const isTagged = plan?.candidates?.kind === 'Tagged';
    const subnetIds = vpc.podSubnets
      .map(({ subnetId }) => subnetId)
      .filter((subnetId) => isTagged && tags.now(subnetId) === name);
    return [{ name, isTagged, subnetIds }];
  });
}

/** Well-formed classes that may have been the node's at some time since then. */
function plansFor(model: Model, node: NodeName, since: number): readonly ClassPlan[] {
  const said = model.words.since(since, node);
  return model.classes
    .since(since)
    .filter((plan) => plan.malformed === undefined && said.some((then) => isFor(model, plan, node, then)));
}

/** By the objects as they are. */
const familiesOf = (model: Model, node: NodeName): Families =>
  soundClassOf(model, node)?.families ?? model.families.now(CLUSTER) ?? IPV4_ONLY;

/** What somebody may take for the node's who sees each object as it was at some time since then. */
function possibleFamilies(model: Model, node: NodeName, since: number): readonly Families[] {
  const ofClasses = plansFor(model, node, since).flatMap(({ families }) => (families ? [families] : []));
  return [...model.families.since(since, CLUSTER), ...ofClasses];
}

/** Whether the subnet may have what the families of the node's pods need, by one who sees each object so late. */
function hasFamilies(model: Model, node: NodeName, subnetId: SubnetId, since: number): boolean {
  const blocks = model.ipv6Blocks;
  if (since >= model.now())
    return !familiesOf(model, node).includes('IPv6') || blocks.now(subnetId) !== undefined;
  return (
    blocks.since(since, subnetId).length > 0 ||
    possibleFamilies(model, node, since).some((families) => !families.includes('IPv6'))
  );
}

const isFor = ({ zones }: Model, plan: ClassPlan, node: NodeName, { pool }: NodeWords): boolean =>
  plan.malformed === 'Match' ||
  ((plan.zone === undefined || plan.zone === zones.get(node)) &&
    (plan.pool === undefined || plan.pool === pool));

/** Whether the class would take the ENIConfig, wherever its subnet is. */
function takes({ name, candidates }: ClassPlan, config: Config): boolean {
  switch (candidates?.kind) {
    case undefined:
      return false;
    case 'Names':
      return candidates.names.includes(config.name);
    case 'Tier':
      return config.labels[TIER_LABEL] === candidates.tier;
    case 'Tagged':
      return config.labels[CLASS_LABEL] === name;
  }
}

const meets = ({ name, labels }: Config, wish: Wish): boolean =>
  wish.kind === 'Name' ? wish.name === name : wish.kind === 'Tier' && wish.tier === labels[TIER_LABEL];

const contentOf = ({ subnetId, securityGroupIds }: EniConfigContent): EniConfigContent => ({
  subnetId,
  securityGroupIds,
});

function nodeSubnetPlaces(model: Model, node: NodeName, since: number): readonly Place[] {
  const { vpc, zones } = model;
  const subnetId = vpc.nodeSubnets.get(zones.get(node) ?? 'z-a');
  return subnetId === undefined || !hasFamilies(model, node, subnetId, since)
    ? []
    : [{ name: '', subnetId, securityGroupIds: [vpc.nodesGroup] }];
}

/**
 * Whether the ENIConfig says what cannot be: no subnet, or one without the families of the node's pods, or a group that is
 * not there or of another VPC than the subnet.
 */
function isBroken(model: Model, node: NodeName, { content }: Config, since: number): boolean {
  const { vpc, groups } = model;
  const subnet = content && vpc.subnets.get(content.subnetId);
  if (content === undefined || subnet === undefined) return true;
  if (!hasFamilies(model, node, content.subnetId, since)) return true;
  return !content.securityGroupIds.every(
    (id) => vpc.groups.get(id) === subnet.vpcId && groups.since(since, id).length > 0,
  );
}

/** Where the ENIConfig puts the node's pods, by one who saw the groups as they were at some time since then; or nowhere. */
function placesOf(model: Model, node: NodeName, config: Config, since: number): readonly Place[] {
  const { vpc, zones } = model;
  const { name, content } = config;
  if (content === undefined || isBroken(model, node, config, since)) return [];
  const subnet = vpc.subnets.get(content.subnetId);
  if (subnet?.zone !== zones.get(node) || subnet?.vpcId !== vpc.vpcId) return [];
  const { subnetId, securityGroupIds } = content;
  // Without groups: those of the node's primary ENI.
  return [
    { name, subnetId, securityGroupIds: securityGroupIds.length === 0 ? [vpc.nodesGroup] : securityGroupIds },
  ];
}

/** All that somebody could conclude who saw each object at some time since then, each at another one. */
function possiblePlaces(model: Model, node: NodeName, since: number): readonly Place[] {
  const { words, classes, configs, zones } = model;
  const said = words.since(since, node);
  const configsThen = configs.since(since);
  const written = new Set(said.flatMap(({ annotation, label }) => annotation ?? label ?? []));
  const isSilent = said.some(({ annotation, label }) => (annotation ?? label) === undefined);
  const plans = !isSilent
    ? []
    : classes.since(since).filter((plan) => said.some((then) => isFor(model, plan, node, then)));
  const isClaimed = classes
    .names()
    .some((name) =>
      classes.always(
        name,
        since,
        (plan) =>
          (plan.candidates !== undefined || plan.malformed !== undefined) &&
          said.every((then) => isFor(model, plan, node, then)),
      ),
    );
  // One that names no ENIConfigs may go before one that does, and leaves it to the rules after it.
  const isImplied =
    isSilent &&
    (!isClaimed || plans.some((plan) => plan.candidates === undefined && plan.malformed === undefined));
  const places = configsThen
    .filter(
      (config) =>
        written.has(config.name) ||
        plans.some((plan) => takes(plan, config)) ||
        (isImplied && config.name === zones.get(node)),
    )
    .flatMap((config) => placesOf(model, node, config, since));
  const mayFallBack = plans.some(
    (plan) => plan.malformed === undefined && mayFallBackBy(model, node, plan, since),
  );
  return mayFallBack ? [...places, ...nodeSubnetPlaces(model, node, since)] : places;
}

/** Not while one that the class names is missing or broken all the time. */
function mayFallBackBy(
  model: Model,
  node: NodeName,
  { fallback, candidates }: ClassPlan,
  since: number,
): boolean {
  const { configs } = model;
  if (fallback !== 'NodeSubnet') return false;
  if (candidates?.kind !== 'Names') return true;
  return candidates.names.every((name) =>
    configs.since(since, name).some((config) => !isBroken(model, node, config, since)),
  );
}

/** The class that claims the node now. */
function classOf(model: Model, node: NodeName): ClassPlan | undefined {
  const said = model.words.now(node);
  if (said === undefined) return undefined;
  const plans = model.classes.names().flatMap((name) => model.classes.now(name) ?? []);
  return plans
    .filter((plan) => isFor(model, plan, node, said))
    .sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1))[0];
}

/** The same, if it can be read. */
function soundClassOf(model: Model, node: NodeName): ClassPlan | undefined {
  const plan = classOf(model, node);
  return plan?.malformed === undefined ? plan : undefined;
}

/** What is right by the objects as they are; more than one where the choice depends on what was chosen before. */
function rightPlaces(model: Model, node: NodeName): readonly Place[] {
  const { words, configs, zones } = model;
  const said = words.now(node);
  const named = (name: string): readonly Place[] => {
    const config = configs.now(name);
    return config === undefined ? [] : placesOf(model, node, config, model.now());
  };
  const written = said?.annotation ?? said?.label;
  if (written !== undefined) return named(written);
  const plan = classOf(model, node);
  if (plan?.malformed !== undefined) return [];
  if (plan?.candidates !== undefined) return rightOfClass(model, node, plan);
  const implied = zones.get(node) ?? '';
  if (configs.now(implied) !== undefined) return named(implied);
  return plan?.fallback === 'NodeSubnet' ? nodeSubnetPlaces(model, node, model.now()) : [];
}

function rightOfClass(model: Model, node: NodeName, plan: ClassPlan): readonly Place[] {
  const { configs, addresses } = model;
  const all = configs.names().flatMap((name) => configs.now(name) ?? []);
  const names =
    plan.candidates?.kind === 'Names'
      ? plan.candidates.names
      : all
          .filter((config) => takes(plan, config))
          .map(({ name }) => name)
          .sort();
  const named = names.flatMap((name) => configs.now(name) ?? []);
  const usable = named.flatMap((config) => placesOf(model, node, config, model.now()));
  if (usable.length === 0) {
    const isInOrder =
      named.length === names.length && !named.some((config) => isBroken(model, node, config, model.now()));
    return isInOrder && plan.fallback === 'NodeSubnet' ? nodeSubnetPlaces(model, node, model.now()) : [];
  }
  if (plan.strategy === 'First') return usable.slice(0, 1);
  if (plan.strategy !== 'Hash') return usable;
  // The hash itself is checked elsewhere, against sha1sum.
  const chosen = rendezvousChoice(
    addresses.get(node) ?? '',
    usable.map(({ name }) => name),
  );
  return usable.filter(({ name }) => name === chosen);
}
