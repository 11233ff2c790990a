// Reads a cluster, and EC2 if it can be asked, into a picture at one moment. Changes nothing.

import { completePicture } from '../domain/explain/complete-picture.ts';
import type { Ec2Picture, Picture, PictureSettings } from '../domain/explain/picture.ts';
import type { SubnetFacts } from '../domain/eniconfig/eni-config.ts';
import type { InstanceId, SecurityGroupId, SubnetId } from '../domain/ids.ts';
import { DEFAULT_ENI_CONFIG_KEY } from '../domain/eniconfig/selection-input.ts';
import type { InstanceLimits } from '../domain/instance/instance-limits.ts';
import { knownLimits } from '../domain/instance/instance-types.ts';
import { addressFamiliesOf, type Environment, settingsReader } from '../domain/settings-reader.ts';
import { err, ok, type Result } from '../domain/result.ts';
import type { AccountReader } from '../ports/account.ts';
import type { Clock } from '../ports/clock.ts';
import type {
  ClusterReader,
  EniConfigRecord,
  Kind,
  KindMap,
  NodeNetworkRecord,
  NodeRecord,
} from '../ports/cluster.ts';
import type { Ec2Outcome, Ec2Reader } from '../ports/ec2.ts';

export type ReservationReader = Pick<AccountReader, 'describeReservations'>;

export interface PictureSources {
  readonly cluster: ClusterReader;
  /** Why the cluster cannot be followed, as far as it has been noticed. */
  readonly trouble: () => string | undefined;
  /** EC2 and its Region, or why it cannot be asked. */
  readonly ec2:
    | {
        readonly reader: Ec2Reader;
        readonly region: string;
        /** Where they matter: a request for each subnet. */
        readonly reservations?: ReservationReader;
      }
    | string;
  readonly clock: Clock;
  /** The controller's settings, as far as a person gave them. */
  readonly settings: Environment;
}

/** Kinds of our own API, which a cluster may not know yet. */
const OWN_KINDS: readonly Kind[] = ['EniConfig', 'NodeNetwork', 'NodeNetworkClass'];

export interface GatheredPicture extends Picture {
  /** Kinds that the API server does not know, each with its sentence. */
  readonly unknownKinds: readonly string[];
  /** What EC2 does not tell, each with its cause, where the rest is known. */
  readonly unread: readonly string[];
}

export async function gatherPicture(sources: PictureSources): Promise<Result<GatheredPicture, string>> {
  const { cluster } = sources;
  const unknownKinds: string[] = [];
  const missing = new Set<Kind>();
  for (const kind of OWN_KINDS) {
    const probe = await cluster.get(kind, 'eniwhere-probe');
    if (probe.kind === 'ok') continue;
    if (probe.kind === 'unknown') return err(probe.cause);
    if (probe.failure.kind === 'forbidden') return err(probe.failure.message);
    // "Does not know the kind" and "cannot be reached" look alike here; the lists of nodes tell them apart.
    unknownKinds.push(probe.failure.message);
    missing.add(kind);
  }
  const nodes = await listOf(sources, 'Node');
  if (!nodes.ok) return nodes;
  const pods = await listOf(sources, 'Pod');
  if (!pods.ok) return pods;
  const own = async <K extends Kind>(kind: K): Promise<Result<readonly KindMap[K][], string>> =>
    missing.has(kind) ? ok([]) : listOf(sources, kind);
  const eniConfigs = await own('EniConfig');
  if (!eniConfigs.ok) return eniConfigs;
  const networks = await own('NodeNetwork');
  if (!networks.ok) return networks;
  const classes = await own('NodeNetworkClass');
  if (!classes.ok) return classes;
  const settings = readSettings(sources.settings, networks.value);
  if (!settings.ok) return settings;
  const asked = await askEc2(sources.ec2, {
    nodes: nodes.value,
    eniConfigs: eniConfigs.value,
    networks: networks.value,
  });
  const picture = completePicture({
    now: sources.clock.now(),
    nodes: nodes.value,
    pods: pods.value,
    eniConfigs: eniConfigs.value,
    classes: classes.value,
    networks: networks.value,
    ec2: asked.ec2,
    limits: asked.limits,
    settings: settings.value,
  });
  return ok({ ...picture, unknownKinds, unread: asked.unread });
}

/** The API server has answered by then, or does not. */
const LIST_TIMEOUT_MS = 20_000;

function listOf<K extends Kind>(
  { cluster, clock, trouble }: PictureSources,
  kind: K,
): Promise<Result<readonly KindMap[K][], string>> {
  return new Promise((resolve) => {
    const timer = clock.timer(LIST_TIMEOUT_MS, `list ${kind}`, () => {
      subscription.close();
      const cause = trouble() ?? 'the API server does not answer';
      resolve(err(`${kind}s cannot be listed: ${cause}`));
    });
    const subscription = cluster.watch({
      kind,
      onEvent: (event) => {
        if (event.type !== 'Snapshot') return;
        timer.cancel();
        // A reader may answer before it has returned the subscription.
        queueMicrotask(() => subscription.close());
        resolve(ok(event.objects));
      },
    });
  });
}

/** Custom networking is on unless nodes say otherwise; everything else is as in the controller by default. */
function readSettings(
  env: Environment,
  networks: readonly NodeNetworkRecord[],
): Result<PictureSettings, string> {
  const errors: string[] = [];
  const read = settingsReader(env, errors);
  const isOff = networks.some(({ spec }) => spec.selection.source === 'CustomNetworkingOff');
  const warmIp = read.count('WARM_IP_TARGET');
  const minimumIp = read.count('MINIMUM_IP_TARGET');
  const maxEni = read.count('MAX_ENI');
  const warmPrefix = read.count('WARM_PREFIX_TARGET');
  const settings: PictureSettings = {
    selection: {
      customNetworking: read.flag('AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG', !isOff),
      annotationKey: read.text('ENI_CONFIG_ANNOTATION_DEF', DEFAULT_ENI_CONFIG_KEY),
      labelKey: read.text('ENI_CONFIG_LABEL_DEF', DEFAULT_ENI_CONFIG_KEY),
    },
    targets: {
      ...(warmIp === undefined ? {} : { warmIp }),
      ...(minimumIp === undefined ? {} : { minimumIp }),
      warmEni: read.count('WARM_ENI_TARGET') ?? 1,
      ...(warmPrefix === undefined ? {} : { warmPrefix }),
      ...(maxEni === undefined || maxEni < 1 ? {} : { maxEni }),
    },
    // For nodes without a NodeNetwork; the others' say what the controller made of its settings.
    addressFamilies: addressFamiliesOf(read),
    startupTaint: read.text('ENIWHERE_STARTUP_TAINT', 'eniwhere.io/network-not-ready'),
  };
  return errors.length === 0 ? ok(settings) : err(errors.join('; '));
}

interface Known {
  readonly nodes: readonly NodeRecord[];
  readonly eniConfigs: readonly EniConfigRecord[];
  readonly networks: readonly NodeNetworkRecord[];
}

interface Asked {
  readonly ec2: Ec2Picture | string;
  readonly limits: ReadonlyMap<string, InstanceLimits>;
  readonly unread: readonly string[];
}

async function askEc2(from: PictureSources['ec2'], known: Known): Promise<Asked> {
  const types = new Set(known.networks.map(({ spec }) => spec.instance.instanceType));
  const shipped = limitsByType([...types].flatMap((type) => knownLimits(type) ?? []));
  const unasked = (why: string): Asked => ({ ec2: why, limits: shipped, unread: [] });
  if (typeof from === 'string') return unasked(from);
  const { reader, region } = from;
  const ids = known.nodes.flatMap((node): readonly InstanceId[] =>
    node.instanceId === undefined ? [] : [node.instanceId],
  );
  const instances = await reader.describeInstances(ids);
  if (instances.kind !== 'ok') return unasked(because(instances));
  const parsed = known.eniConfigs.flatMap(({ spec }) => (spec.kind === 'Parsed' ? [spec.eniConfig] : []));
  const subnetIds = new Set<SubnetId>([
    ...parsed.map((one) => one.subnetId),
    ...instances.value.map((one) => one.primarySubnetId),
  ]);
  const subnets = await reader.describeSubnets([...subnetIds]);
  if (subnets.kind !== 'ok') return unasked(because(subnets));
  const groupIds = new Set<SecurityGroupId>(parsed.flatMap((one) => one.securityGroupIds));
  const groups = await reader.describeSecurityGroups([...groupIds]);
  if (groups.kind !== 'ok') return unasked(because(groups));
  for (const one of instances.value) types.add(one.instanceType);
  const limits = await reader.describeInstanceTypes([...types]);
  const { unread, ...kept } = await askReservations(from, subnets.value);
  return {
    ec2: {
      region,
      instances: new Map(instances.value.map((one) => [one.instanceId, one])),
      subnets: new Map(subnets.value.map((one) => [one.subnetId, one])),
      groupVpcs: new Map(groups.value.map((one) => [one.securityGroupId, one.vpcId])),
      ...kept,
    },
    unread,
    limits: limits.kind === 'ok' ? limitsByType([...shipped.values(), ...limits.value]) : shipped,
  };
}

type Kept = Pick<Ec2Picture, 'reservations' | 'used'> & { readonly unread: readonly string[] };

/** What is reserved, and what is left of the blocks for prefixes: free counts tell of neither. */
async function askReservations(
  { reader, reservations: account }: Exclude<PictureSources['ec2'], string>,
  subnets: readonly SubnetFacts[],
): Promise<Kept> {
  if (account === undefined) return { unread: [] };
  const found = await account.describeReservations(subnets.map((one) => one.subnetId));
  if (found.kind !== 'ok')
    return { unread: [`reservations of subnets cannot be read: ${because(found)}: none is reckoned with`] };
  const reservations = found.value;
  const reserved = subnets.filter((one) => (reservations.get(one.subnetId)?.prefix ?? []).length > 0);
  if (reserved.length === 0) return { reservations, unread: [] };
  const vpcIds = [...new Set(reserved.map((one) => one.vpcId))];
  const enis = await reader.describeNetworkInterfaces({ vpcIds });
  if (enis.kind !== 'ok')
    return {
      reservations,
      unread: [
        `network interfaces cannot be read: ${because(enis)}: what others have of reserved blocks is not known`,
      ],
    };
  const used = reserved.map(({ subnetId }) => {
    const there = enis.value.filter((eni) => eni.subnetId === subnetId);
    return [
      subnetId,
      there.flatMap((eni) => [eni.primaryAddress, ...eni.addresses, ...eni.prefixes]),
    ] as const;
  });
  return { reservations, used: new Map(used), unread: [] };
}

const limitsByType = (limits: readonly InstanceLimits[]): ReadonlyMap<string, InstanceLimits> =>
  new Map(limits.map((one) => [one.instanceType, one]));

const because = (outcome: Exclude<Ec2Outcome<unknown>, { kind: 'ok' }>): string =>
  outcome.kind === 'failed'
    ? `EC2 refuses: ${outcome.failure.code}: ${outcome.failure.message}`
    : `EC2 does not answer: ${outcome.cause}`;
