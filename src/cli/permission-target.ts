// What of a cluster the permissions are tried on, and what could not be tried. Pure.

import type { PermissionFinding } from '../domain/doctor/permission-finding.ts';
import type { Picture } from '../domain/explain/picture.ts';
import type { EniConfig } from '../domain/eniconfig/eni-config.ts';
import { OWNER_TAG } from '../domain/ipam/tags.ts';
import type { Ec2Eni } from '../ports/ec2.ts';
import type { PermissionTarget } from '../ports/permissions.ts';

/**
 * The ENI on one of the picture's nodes that carries a cluster's tag tells the cluster's name, unless `clusterName` does.
 * Of ENIConfigs the objects are asked, since EC2 may refuse to describe their subnets.
 */
export function permissionTarget(
  picture: Picture,
  enis: readonly Ec2Eni[],
  clusterName: string | undefined,
): PermissionTarget {
  const instanceIds = new Set(picture.nodes.flatMap((node) => node.instanceId ?? []));
  const ownEni = enis.find((eni) => {
    const owner = eni.tags[OWNER_TAG];
    const instanceId = eni.attachment?.instanceId;
    if (owner === undefined || instanceId === undefined || !instanceIds.has(instanceId)) return false;
    return clusterName === undefined || owner === clusterName;
  });
  const name = clusterName ?? ownEni?.tags[OWNER_TAG];
  const eniConfig = eniConfigToTry(picture);
  const [instanceId] = instanceIds;
  return {
    ...(name === undefined ? {} : { clusterName: name }),
    ...(eniConfig === undefined
      ? {}
      : { subnetId: eniConfig.subnetId, securityGroupIds: eniConfig.securityGroupIds }),
    ...(instanceId === undefined ? {} : { instanceId }),
    ...(ownEni === undefined ? {} : { ownEni }),
  };
}

/** One that works where there is one: a subnet that does not exist is refused before permissions are looked at. */
function eniConfigToTry({ index, eniConfigs }: Picture): EniConfig | undefined {
  for (const view of index.views.values()) if (view.kind === 'Valid') return view.eniConfig;
  return eniConfigs.flatMap(({ spec }) => (spec.kind === 'Parsed' ? [spec.eniConfig] : []))[0];
}

/** One line per reason. */
export function untriedNotes(tried: readonly PermissionFinding[]): readonly string[] {
  const byReason = new Map<string, string[]>();
  for (const { verdict, action, message } of tried)
    if (verdict === 'Unknown') byReason.set(message, [...(byReason.get(message) ?? []), `ec2:${action}`]);
  return [...byReason].map(([reason, actions]) => `no answer for ${actions.join(', ')}: ${reason}`);
}
