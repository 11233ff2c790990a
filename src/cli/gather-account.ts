// Reads what of the account the checks need beside the cluster. What cannot be read is named, and its checks are skipped.

import type { AccountPicture, DefaultRoute, UsedAddresses } from '../domain/doctor/account-picture.ts';
import type { Cidr, Ip } from '../domain/address/ip.ts';
import type { Picture } from '../domain/explain/picture.ts';
import type { InstanceId, SubnetId } from '../domain/ids.ts';
import type { AccountReader } from '../ports/account.ts';
import type { Ec2Eni, Ec2Outcome, Ec2Reader } from '../ports/ec2.ts';
import type { PermissionChecker } from '../ports/permissions.ts';
import { permissionTarget, untriedNotes } from './permission-target.ts';

export interface AccountSources {
  readonly ec2: Ec2Reader | undefined;
  /** Absent in a lab, which has no route tables. */
  readonly account: AccountReader | undefined;
  /** Absent in a lab, which has no policies. */
  readonly permissions: PermissionChecker | undefined;
}

export interface CredentialsInUse {
  readonly of: 'Controller' | 'Caller';
  /** As the controller's settings have it, if a person said so. */
  readonly clusterName: string | undefined;
}

export async function gatherAccount(
  picture: Picture,
  { ec2, account, permissions }: AccountSources,
  credentials: CredentialsInUse,
): Promise<AccountPicture> {
  const subnets = picture.index.subnets;
  const vpcIds = [...new Set([...subnets.values()].map((one) => one.vpcId))].filter((id) => id.length > 0);
  const instanceIds = picture.nodes.flatMap((node): readonly InstanceId[] =>
    node.instanceId === undefined ? [] : [node.instanceId],
  );
  const unread: string[] = [];
  const read = async <T>(
    what: string,
    call: (() => Promise<Ec2Outcome<T>>) | undefined,
  ): Promise<T | undefined> => {
    if (call === undefined) return undefined;
    const outcome = await call();
    if (outcome.kind === 'ok') return outcome.value;
    const cause =
      outcome.kind === 'failed' ? `${outcome.failure.code}: ${outcome.failure.message}` : outcome.cause;
    unread.push(`${what} cannot be read: ${cause}`);
    return undefined;
  };
  const vpcs = await read('VPCs', ec2 && (() => ec2.describeVpcs(vpcIds)));
  const enis = await read('network interfaces', ec2 && (() => ec2.describeNetworkInterfaces({ vpcIds })));
  const routes = await read('route tables', account && (() => account.describeDefaultRoutes(vpcIds)));
  const hopLimits = await read('metadata options', account && (() => account.describeHopLimits(instanceIds)));
  const tried = await permissions?.checkPermissions(
    permissionTarget(picture, enis ?? [], credentials.clusterName),
  );
  unread.push(...untriedNotes(tried ?? []));
  return {
    ...(tried === undefined ? {} : { permissions: { of: credentials.of, tried } }),
    ...(vpcs === undefined ? {} : { vpcCidrs: new Map(vpcs.map((one) => [one.vpcId, one.cidrs])) }),
    ...(enis === undefined ? {} : { used: usedBySubnet(enis) }),
    ...(routes === undefined
      ? {}
      : {
          defaultRoutes: new Map(
            [...subnets.values()].flatMap(({ subnetId, vpcId }): readonly [SubnetId, DefaultRoute][] => {
              const vpc = routes.find((one) => one.vpcId === vpcId);
              return vpc === undefined ? [] : [[subnetId, vpc.bySubnet.get(subnetId) ?? vpc.main]];
            }),
          ),
        }),
    ...(hopLimits === undefined ? {} : { hopLimits }),
    unread,
  };
}

function usedBySubnet(enis: readonly Ec2Eni[]): ReadonlyMap<SubnetId, UsedAddresses> {
  const used = new Map<SubnetId, { addresses: Ip[]; prefixes: Cidr[] }>();
  for (const eni of enis) {
    const entry = used.get(eni.subnetId) ?? { addresses: [], prefixes: [] };
    entry.addresses.push(eni.primaryAddress, ...eni.addresses);
    entry.prefixes.push(...eni.prefixes);
    used.set(eni.subnetId, entry);
  }
  return used;
}
