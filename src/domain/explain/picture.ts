// A cluster at one moment, as the tools look at it: objects of Kubernetes, and what EC2 says when it could be asked.

import type { AddressFamily } from '../address/families.ts';
import type { Cidr, Ip } from '../address/ip.ts';
import { NO_RESERVATIONS, type SubnetReservations } from '../address/subnet-reservations.ts';
import type { ClassSpec } from '../eniconfig/node-network-class.ts';
import type { EniConfigStatus, EniConfigView, SubnetFacts } from '../eniconfig/eni-config.ts';
import type { EniConfigObject } from '../eniconfig/resolve-eni-config.ts';
import type { SelectionSettings } from '../eniconfig/selection-input.ts';
import type { InstanceId, NodeName, PodKey, SecurityGroupId, SubnetId, VpcId } from '../ids.ts';
import type { InstanceLimits } from '../instance/instance-limits.ts';
import type { InstanceFacts, NodeNetworkSpec, NodeNetworkStatus } from '../ipam/node-network.ts';
import type { WarmTargets } from '../ipam/warm-targets.ts';

interface Named {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly deleting: boolean;
}

export interface PictureNode extends Named {
  readonly name: NodeName;
  readonly instanceId?: InstanceId;
  readonly zone?: string;
  readonly taints: readonly { readonly key: string; readonly effect: string }[];
  /** status.capacity.pods, as kubelet was told. */
  readonly podCapacity?: number;
  /** status.nodeInfo.kernelVersion */
  readonly kernelVersion?: string;
}

export interface PicturePod extends Named {
  readonly key: PodKey;
  readonly namespace: string;
  readonly nodeName?: NodeName;
  readonly hostNetwork: boolean;
  readonly finished: boolean;
  /** A container asks for `vpc.amazonaws.com/pod-eni`. */
  readonly asksBranchEni?: true;
}

export interface PictureEniConfig extends EniConfigObject {
  readonly deleting: boolean;
  readonly status?: EniConfigStatus;
}

export interface PictureNetwork {
  readonly name: NodeName;
  readonly generation: number;
  readonly spec: NodeNetworkSpec;
  readonly status: NodeNetworkStatus;
}

/** Ids that were asked for and are not here do not exist. */
export interface Ec2Picture {
  readonly region: string;
  readonly instances: ReadonlyMap<InstanceId, InstanceFacts>;
  readonly subnets: ReadonlyMap<SubnetId, SubnetFacts>;
  readonly groupVpcs: ReadonlyMap<SecurityGroupId, VpcId>;
  /** Absent: nobody asked, or they cannot be read. */
  readonly reservations?: ReadonlyMap<SubnetId, SubnetReservations>;
  /** Of subnets with blocks reserved for prefixes: what all ENIs there hold, those of others too. Absent as above. */
  readonly used?: ReadonlyMap<SubnetId, readonly (Ip | Cidr)[]>;
}

export interface PictureSettings {
  readonly selection: SelectionSettings;
  readonly targets: WarmTargets;
  readonly addressFamilies: readonly AddressFamily[];
  readonly startupTaint: string;
}

/** What is looked up for every node, worked out once: clusters have thousands of nodes and a hundred thousand pods. */
export interface PictureIndex {
  /** node -> its pods that need an address, in code-unit order */
  readonly podsByNode: ReadonlyMap<string, readonly PicturePod[]>;
  readonly networks: ReadonlyMap<string, PictureNetwork>;
  readonly views: ReadonlyMap<string, EniConfigView>;
  readonly subnets: ReadonlyMap<SubnetId, SubnetFacts>;
  /** ENIConfig -> nodes whose ENIs are made for it */
  readonly nodeCounts: ReadonlyMap<string, number>;
}

/** Made by `completePicture`. */
export interface Picture extends PictureFacts {
  readonly index: PictureIndex;
}

export interface PictureFacts {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly nodes: readonly PictureNode[];
  readonly pods: readonly PicturePod[];
  readonly eniConfigs: readonly PictureEniConfig[];
  readonly classes: readonly { readonly name: string; readonly spec: ClassSpec }[];
  readonly networks: readonly PictureNetwork[];
  /** Or why EC2 could not be asked, in words. */
  readonly ec2: Ec2Picture | string;
  /** instance type -> limits, by EC2 or by the table */
  readonly limits: ReadonlyMap<string, InstanceLimits>;
  readonly settings: PictureSettings;
}

export const networkOf = (picture: Picture, name: string): PictureNetwork | undefined =>
  picture.index.networks.get(name);

/** The node's EC2 facts: EC2's own, else those that the controller has published. */
export function instanceOf(picture: Picture, node: PictureNode): InstanceFacts | undefined {
  const asked =
    typeof picture.ec2 === 'string' || node.instanceId === undefined
      ? undefined
      : picture.ec2.instances.get(node.instanceId);
  return asked ?? networkOf(picture, node.name)?.spec.instance;
}

/** Pods bound to the node that need an address, in code-unit order. */
export const podsOn = (picture: Picture, name: string): readonly PicturePod[] =>
  picture.index.podsByNode.get(name) ?? [];

/** As far as EC2 has told of any. */
export const reservationsOf = ({ ec2 }: Picture, subnetId: SubnetId): SubnetReservations =>
  (typeof ec2 === 'string' ? undefined : ec2.reservations?.get(subnetId)) ?? NO_RESERVATIONS;

/** What all ENIs of the subnet hold; undefined: nobody knows. */
export const usedOf = ({ ec2 }: Picture, subnetId: SubnetId): readonly (Ip | Cidr)[] | undefined =>
  typeof ec2 === 'string' ? undefined : ec2.used?.get(subnetId);
