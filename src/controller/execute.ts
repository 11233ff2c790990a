// Carries out one action of a plan: takes budget, calls EC2, and writes the outcome into the view. It never chooses what.

import type { EniId, InstanceId } from '../domain/ids.ts';
import type { Action } from '../domain/ipam/action.ts';
import { eniTags } from '../domain/ipam/tags.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ec2Failure, Ec2Outcome, Ec2Writer } from '../ports/ec2.ts';
import type { Priority } from './budget-line.ts';
import type { Budget, BudgetAction } from './budget.ts';
import { type Ec2View, ownWrites } from './ec2-view.ts';
import type { SlotContent } from './eni-belief.ts';
import type { NodeMemory } from './node-memory.ts';

export interface ExecuteDeps {
  readonly ec2: Ec2Writer;
  readonly view: Ec2View;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly clusterName: string;
}

export type Executed =
  | { readonly kind: 'done' }
  /** The node is called when a token is there for it. */
  | { readonly kind: 'noBudget' }
  | { readonly kind: 'failed'; readonly failure: Ec2Failure }
  /** It may have happened: only EC2 can say, so the instance has to be read again. */
  | { readonly kind: 'unknown'; readonly cause: string };

/** An intent that is first tried so long after it was noted is dated anew: what is left of its life has to last for its tries. */
const UNSENT_MS = 10_000;
/** After an assign with an unknown outcome the ENI rests for this long: EC2's staleness, and a read after it. */
const ASSIGN_HOLD_MS = 25_000;
/** The same where a second one would stay for ever: as long as describes are not trusted after a start. */
const IPV6_ASSIGN_HOLD_MS = 60_000;

const BUDGET_ACTION: Readonly<Record<Action['do'], BudgetAction>> = {
  CreateEni: 'CreateNetworkInterface',
  AttachEni: 'AttachNetworkInterface',
  SetDeleteOnTermination: 'ModifyNetworkInterfaceAttribute',
  SetSecurityGroups: 'ModifyNetworkInterfaceAttribute',
  AssignAddresses: 'AssignPrivateIpAddresses',
  AssignPrefixes: 'AssignPrivateIpAddresses',
  AssignIpv6Prefix: 'AssignIpv6Addresses',
  UnassignAddresses: 'UnassignPrivateIpAddresses',
  UnassignPrefixes: 'UnassignPrivateIpAddresses',
  DetachEni: 'DetachNetworkInterface',
  DeleteEni: 'DeleteNetworkInterface',
};

/** Executes `action` for an instance. Resolves with what came of it; never rejects for EC2's sake. */
export async function execute(deps: ExecuteDeps, action: Action, node: TargetNode): Promise<Executed> {
  const isPaid = action.do === 'CreateEni' && node.memory.hasCreateToken;
  if (isPaid) node.memory.hasCreateToken = false;
  const wish = { key: node.name, priority: node.priority };
  if (!isPaid && !deps.budget.take(BUDGET_ACTION[action.do], wish)) return { kind: 'noBudget' };
  const sentAt = deps.clock.now();
  const executed = await call(deps, action, node);
  if (executed.kind === 'failed' && executed.failure.kind === 'throttled') {
    deps.budget.throttled(BUDGET_ACTION[action.do], sentAt);
  }
  return executed;
}

interface TargetNode {
  readonly instanceId: InstanceId;
  readonly name: string;
  readonly memory: NodeMemory;
  readonly priority: Priority;
}
type Do<Verb extends Action['do']> = Extract<Action, { do: Verb }>;

async function call(deps: ExecuteDeps, action: Action, node: TargetNode): Promise<Executed> {
  const { ec2, view, clock } = deps;
  switch (action.do) {
    case 'CreateEni':
      return createEni(deps, action, node);
    case 'AttachEni':
      return attachEni(deps, action, node);
    case 'SetDeleteOnTermination': {
      const { eniId, attachmentId } = action;
      return settle(await ec2.setDeleteOnTermination({ eniId, attachmentId }), () => {
        const attachment = view.enis.get(eniId)?.eni.attachment;
        if (attachment !== undefined) {
          ownWrites.attachment(view, eniId, { ...attachment, deleteOnTermination: true }, clock.now());
        }
      });
    }
    case 'SetSecurityGroups': {
      const { eniId, securityGroupIds } = action;
      return settle(await ec2.setSecurityGroups({ eniId, securityGroupIds }), () =>
        ownWrites.regrouped(view, eniId, securityGroupIds, clock.now()),
      );
    }
    case 'AssignAddresses': {
      const { eniId, count } = action;
      const outcome = await ec2.assignPrivateIpAddresses({ eniId, count });
      // The call has no client token: repeating it could assign twice as many, so sightings have to say what it did.
      if (outcome.kind === 'unknown') ownWrites.held(view, eniId, clock.now() + ASSIGN_HOLD_MS);
      return settle(outcome, (added) => ownWrites.added(view, eniId, added, clock.now()));
    }
    case 'AssignPrefixes': {
      const { eniId, subnetId, family, count } = action;
      const outcome = await ec2.assignPrefixes({ eniId, family, count });
      if (outcome.kind === 'unknown') ownWrites.held(view, eniId, clock.now() + ASSIGN_HOLD_MS);
      return settle(outcome, (added) => {
        ownWrites.added(view, eniId, added, clock.now());
        view.blockRefusals.delete(subnetId);
      });
    }
    case 'AssignIpv6Prefix': {
      const { eniId } = action;
      const outcome = await ec2.assignPrefixes({ eniId, family: 6, count: 1 });
      if (outcome.kind === 'unknown') ownWrites.held(view, eniId, clock.now() + IPV6_ASSIGN_HOLD_MS);
      return settle(outcome, (added) => ownWrites.added(view, eniId, added, clock.now()));
    }
    case 'UnassignAddresses':
      return unassign(deps, action.eniId, action.addresses, (addresses) =>
        ec2.unassignPrivateIpAddresses({ eniId: action.eniId, addresses }),
      );
    case 'UnassignPrefixes':
      return unassign(deps, action.eniId, action.prefixes, (prefixes) =>
        ec2.unassignPrefixes({ eniId: action.eniId, prefixes }),
      );
    case 'DetachEni':
      return detachEni(deps, action);
    case 'DeleteEni': {
      const { eniId } = action;
      const outcome = await ec2.deleteNetworkInterface({ eniId });
      if (!isNotThere(outcome)) return settle(outcome, () => ownWrites.deleted(view, eniId, clock.now()));
      ownWrites.deleted(view, eniId, clock.now());
      return { kind: 'done' };
    }
  }
}

const isNotThere = (outcome: Ec2Outcome<unknown>): boolean =>
  outcome.kind === 'failed' && outcome.failure.kind === 'not-found';

async function attachEni(deps: ExecuteDeps, action: Do<'AttachEni'>, node: TargetNode): Promise<Executed> {
  const { eniId, deviceIndex, networkCardIndex } = action;
  const place = { instanceId: node.instanceId, deviceIndex, networkCardIndex };
  const outcome = await deps.ec2.attachNetworkInterface({ eniId, ...place });
  return settle(outcome, (attachmentId) => {
    const attachment = { attachmentId, ...place, deleteOnTermination: false, status: 'attaching' as const };
    ownWrites.attachment(deps.view, eniId, attachment, deps.clock.now());
  });
}

async function detachEni(deps: ExecuteDeps, action: Do<'DetachEni'>): Promise<Executed> {
  const { eniId, attachmentId } = action;
  const outcome = await deps.ec2.detachNetworkInterface({ attachmentId });
  const attachment = deps.view.enis.get(eniId)?.eni.attachment;
  // Also when the outcome is unknown: an ENI that may be going must not be given to pods again before EC2 has said, past
  // all staleness, that it stayed.
  if (outcome.kind !== 'failed' && attachment !== undefined) {
    ownWrites.attachment(deps.view, eniId, { ...attachment, status: 'detaching' }, deps.clock.now());
  }
  return settle(outcome, () => undefined);
}

function settle<T>(outcome: Ec2Outcome<T>, write: (value: T) => void): Executed {
  if (outcome.kind === 'ok') {
    write(outcome.value);
    return { kind: 'done' };
  }
  return outcome.kind === 'failed'
    ? { kind: 'failed', failure: outcome.failure }
    : { kind: 'unknown', cause: outcome.cause };
}

async function createEni(deps: ExecuteDeps, action: Do<'CreateEni'>, node: TargetNode): Promise<Executed> {
  const { intent } = action;
  const { memory } = node;
  const isFirstTry = memory.unsentIntents.delete(intent.id);
  const sentAt = deps.clock.now();
  const outcome = await deps.ec2.createNetworkInterface({
    clientToken: intent.id,
    subnetId: intent.subnetId,
    securityGroupIds: intent.securityGroupIds,
    secondaryAddressCount: intent.addressCount,
    prefixCount: intent.prefixCount,
    ipv6PrefixCount: intent.ipv6PrefixCount,
    description: `Eniwhere: pods of node ${node.name}`,
    tags: eniTags(
      { clusterName: deps.clusterName, nodeName: node.name, instanceId: node.instanceId },
      intent,
    ),
  });
  if (outcome.kind === 'failed' && isFirstTry) {
    // A throttled call never got to the subnet, so the next try is still the first. EC2's own trouble may have come
    // after the effect. Everything else says that nothing was made.
    if (outcome.failure.kind === 'throttled') memory.unsentIntents.add(intent.id);
    else if (outcome.failure.kind !== 'server-error') memory.failedIntents.add(intent.id);
  }
  // Where it has stood in the spec for long before, its life is that of its tries.
  const isOld = sentAt - intent.notedAt > UNSENT_MS;
  if (isFirstTry && isOld && !memory.unsentIntents.has(intent.id)) memory.intentSince.set(intent.id, sentAt);
  return settle(outcome, (eni) => {
    ownWrites.created(deps.view, eni, deps.clock.now());
    if (eni.prefixes.length > 0) deps.view.blockRefusals.delete(eni.subnetId);
  });
}

/** EC2 refuses a whole batch when one is not on the ENI: an earlier try, whose answer was lost, has removed it. */
async function unassign<Content extends SlotContent>(
  deps: ExecuteDeps,
  eniId: EniId,
  content: readonly Content[],
  call: (batch: readonly Content[]) => Promise<Ec2Outcome<void>>,
): Promise<Executed> {
  const removed = (batch: readonly Content[]): void =>
    ownWrites.removed(deps.view, eniId, batch, deps.clock.now());
  const outcome = await call(content);
  // It may have happened, and the agent has let go of it: only what a describe shows long after is granted again.
  if (outcome.kind === 'unknown') removed(content);
  if (!isNotThere(outcome)) return settle(outcome, () => removed(content));
  deps.budget.charge('UnassignPrivateIpAddresses', content.length);
  for (const one of content) {
    const alone = await call([one]);
    if (alone.kind !== 'ok' && !isNotThere(alone)) return settle(alone, () => undefined);
    removed([one]);
  }
  return { kind: 'done' };
}
