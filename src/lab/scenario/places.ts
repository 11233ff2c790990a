// Where endpoints live in a network of namespaces.

import type { Ip, IpFamily } from '../../domain/address/ip.ts';
import type { InstanceId } from '../../domain/ids.ts';
import type { Destination, Endpoint } from './schema-words.ts';

/** The namespace that an endpoint's packets leave from, and the address that others call. */
export interface Spot {
  readonly netnsPath: string;
  readonly address: Ip;
}

export interface Target extends Spot {
  readonly port: number;
}

/** Finds endpoints in the world as it is now. */
export interface Places {
  /**
   * Its address of the family, or its first one. Undefined while the endpoint has none (a pod that waits, or that has
   * only the other family); always of instance metadata.
   */
  spot(endpoint: Endpoint, family?: IpFamily): Spot | undefined;
  target(destination: Destination, family?: IpFamily): Target | undefined;
  /** Whose VPC address stands behind an address that a far end saw (the internet host sees public ones). */
  addressBehind(seen: Ip): Ip;
  /** The instance whose metadata the endpoint would read. */
  instanceBehind(from: Endpoint): InstanceId | undefined;
}
