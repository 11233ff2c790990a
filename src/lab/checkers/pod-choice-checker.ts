// POD-3, POD-4: a pod that chose lives in the subnet and with the groups that it chose or not at all, and no other pod does.

import type { NodeName } from '../../domain/ids.ts';
import { ENI_CONFIG_TAG, OWNER_TAG } from '../../domain/ipam/tags.ts';
import type { Ec2Eni } from '../../ports/ec2.ts';
import { GROUPS_PER_ENI_MAX } from '../ec2/security-group.ts';
import { podAddresses } from '../ec2/pod-addresses.ts';
import type { Checker, LiveSandbox, WorldTruth } from './checker.ts';
import type { PodWishes, Wish } from './pod-wishes.ts';
import type { Place, SelectionModel } from './selection-checker.ts';

export interface PodChoiceSources {
  readonly world: WorldTruth;
  readonly model: SelectionModel;
  readonly wishes: PodWishes;
}

export function createPodChoiceChecker(sources: PodChoiceSources): Checker {
  const { world } = sources;
  return {
    onAdded: (sandbox) => {
      const eni = eniUnder(world, sandbox);
      if (eni === undefined || world.isRobbed(sandbox)) return;
      const possible = sources.wishes.wishesOf(sandbox.podUid, world.lagMs);
      if (possible === undefined || possible.some((wish) => isMet(sources, wish, { sandbox, eni }))) return;
      const asked = possible.map((wish) => JSON.stringify(wish)).join(' or ');
      world.broken(
        'POD-3',
        `${sandbox.pod} on ${sandbox.node} asked for ${asked} and got ${sandbox.address} of "${nameOf(eni)}"`,
      );
    },
    atRest: () => {
      for (const sandbox of world.live.values())
        if (!world.isLeftAlone(sandbox.node)) checkGroups(sources, sandbox);
    },
  };
}

const nameOf = (eni: Ec2Eni): string => eni.tags[ENI_CONFIG_TAG] ?? '';

function eniUnder(world: WorldTruth, { node, address }: LiveSandbox): Ec2Eni | undefined {
  const instanceId = world.instanceOf(node);
  const attached = instanceId === undefined ? [] : world.ec2.enisOf(instanceId);
  return attached.find((eni) => eni.tags[OWNER_TAG] !== undefined && podAddresses(eni).includes(address));
}

/** For one who sees each object as it was at some time not long ago. Who asks for nothing gets what the node ever had. */
function isMet(
  { world, model }: PodChoiceSources,
  wish: Wish,
  { sandbox, eni }: { readonly sandbox: LiveSandbox; readonly eni: Ec2Eni },
): boolean {
  const name = nameOf(eni);
  switch (wish.kind) {
    case 'Nothing':
      return model.possiblePlaces(sandbox.node, Infinity).some((place) => place.name === name);
    case 'Name':
      return wish.name === name;
    case 'Tier':
      return model.chosenPlaces(sandbox.node, [wish], world.lagMs).some((place) => place.name === name);
    case 'Mistake':
      return false;
  }
}

/** The place that a pod should have by the objects as they are; `own` is its node's. Undefined: it has to wait. */
export function placeOfPod(
  { world, model, wishes }: PodChoiceSources,
  pod: { readonly uid: string; readonly node: NodeName },
  own: Place | undefined,
): Place | undefined {
  const wish = wishes.wishOf(pod.uid) ?? { kind: 'Nothing' };
  if (wish.kind === 'Nothing') return own;
  const places = model.chosenPlaces(pod.node, [wish], 0);
  const decisions = world.cluster.nodeNetwork(pod.node)?.spec.choosing?.pods ?? [];
  const decided = decisions.find(({ uid }) => uid === pod.uid);
  const name = decided?.kind === 'EniConfig' ? decided.eniConfig : undefined;
  return places.find((place) => place.name === name) ?? places[0];
}

/** ENI-7 for ENIs that pods chose: in the end they have the groups that their ENIConfig names. */
function checkGroups(sources: PodChoiceSources, sandbox: LiveSandbox): void {
  const { world, wishes } = sources;
  const wish = wishes.wishOf(sandbox.podUid);
  const eni = eniUnder(world, sandbox);
  if (wish === undefined || wish.kind === 'Nothing' || eni === undefined) return;
  // Of several that the pod's labels fit, the one decided for it is chosen: an ENI of another, which was it once, is nobody's.
  const place = placeOfPod(sources, { uid: sandbox.podUid, node: sandbox.node }, undefined);
  if (place?.name !== nameOf(eni)) return;
  // An ENIConfig whose subnet was changed leaves ENIs behind that stay as they are.
  if (place.subnetId !== eni.subnetId || place.securityGroupIds.length > GROUPS_PER_ENI_MAX) return;
  const [has, named] = [eni.securityGroupIds, place.securityGroupIds].map((ids) => [...ids].sort().join());
  if (has !== named)
    world.broken(
      'ENI-7',
      `${eni.eniId}, which ${sandbox.pod} chose, has ${has}, and ${place.name} names ${named}`,
    );
}
