// Carries out one action of a plan: takes budget, calls EC2, and writes the outcome into the view. It never chooses what.

import type { InstanceId } from '../domain/ids.ts';
import type { Action } from '../domain/ipam/action.ts';
import { eniTags } from '../domain/ipam/tags.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ec2Failure, Ec2Outcome, Ec2Writer } from '../ports/ec2.ts';
import type { Budget, BudgetAction } from './budget.ts';
import { type Ec2View, ownWrites } from './ec2-view.ts';
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
  | { readonly kind: 'noBudget'; readonly waitMs: number }
  | { readonly kind: 'failed'; readonly failure: Ec2Failure }
  /** It may have happened: only EC2 can say, so the instance has to be read again. */
  | { readonly kind: 'unknown'; readonly cause: string };

/** After an assign with an unknown outcome the ENI rests for this long: EC2's staleness, and a read after it. */
const ASSIGN_HOLD_MS = 25_000;

const BUDGET_ACTION: Readonly<Record<Action['do'], BudgetAction>> = {
  CreateEni: 'CreateNetworkInterface',
  AttachEni: 'AttachNetworkInterface',
  SetDeleteOnTermination: 'ModifyNetworkInterfaceAttribute',
  AssignAddresses: 'AssignPrivateIpAddresses',
  UnassignAddresses: 'UnassignPrivateIpAddresses',
  DetachEni: 'DetachNetworkInterface',
  DeleteEni: 'DeleteNetworkInterface',
};

/** Executes `action` for an instance. Resolves with what came of it; never rejects for EC2's sake. */
export async function execute(
  deps: ExecuteDeps,
  action: Action,
  node: { readonly instanceId: InstanceId; readonly name: string; readonly memory: NodeMemory },
): Promise<Executed> {
  const taken = deps.budget.take(BUDGET_ACTION[action.do]);
  if (!taken.granted) return { kind: 'noBudget', waitMs: taken.waitMs };
  const executed = await call(deps, action, node);
  if (executed.kind === 'failed' && executed.failure.kind === 'throttled') {
    deps.budget.throttled(BUDGET_ACTION[action.do]);
  }
  return executed;
}

async function call(
  deps: ExecuteDeps,
  action: Action,
  node: { readonly instanceId: InstanceId; readonly name: string; readonly memory: NodeMemory },
): Promise<Executed> {
  const { ec2, view, clock } = deps;
  switch (action.do) {
    case 'CreateEni':
      return createEni(deps, action, node);
    case 'AttachEni': {
      const { eniId, deviceIndex, networkCardIndex } = action;
      const request = { eniId, instanceId: node.instanceId, deviceIndex, networkCardIndex };
      return settle(await ec2.attachNetworkInterface(request), (attachmentId) =>
        ownWrites.attachment(
          view,
          eniId,
          {
            attachmentId,
            instanceId: node.instanceId,
            deviceIndex,
            networkCardIndex,
            deleteOnTermination: false,
            status: 'attaching',
          },
          clock.now(),
        ),
      );
    }
    case 'SetDeleteOnTermination': {
      const { eniId, attachmentId } = action;
      return settle(await ec2.setDeleteOnTermination({ eniId, attachmentId }), () => {
        const attachment = view.enis.get(eniId)?.eni.attachment;
        if (attachment !== undefined) {
          ownWrites.attachment(view, eniId, { ...attachment, deleteOnTermination: true }, clock.now());
        }
      });
    }
    case 'AssignAddresses': {
      const { eniId, count } = action;
      const outcome = await ec2.assignPrivateIpAddresses({ eniId, count });
      // The call has no client token: repeating it could assign twice as many, so sightings have to say what it did.
      if (outcome.kind === 'unknown') ownWrites.held(view, eniId, clock.now() + ASSIGN_HOLD_MS);
      return settle(outcome, (added) => ownWrites.added(view, eniId, added, clock.now()));
    }
    case 'UnassignAddresses': {
      const { eniId, addresses } = action;
      const outcome = await ec2.unassignPrivateIpAddresses({ eniId, addresses });
      // EC2 refuses an address that is not on the ENI: an earlier try, whose answer was lost, has removed it.
      const isGone =
        outcome.kind === 'failed' &&
        (outcome.failure.kind === 'invalid' || outcome.failure.kind === 'not-found');
      if (isGone) return unassignOneByOne(deps, action);
      return settle(outcome, () => ownWrites.removed(view, eniId, addresses, clock.now()));
    }
    case 'DetachEni': {
      const { eniId, attachmentId } = action;
      const outcome = await ec2.detachNetworkInterface({ attachmentId });
      const attachment = view.enis.get(eniId)?.eni.attachment;
      // Also when the outcome is unknown: an ENI that may be going must not be given to pods again before EC2 has said,
      // past all staleness, that it stayed.
      if (outcome.kind !== 'failed' && attachment !== undefined) {
        ownWrites.attachment(view, eniId, { ...attachment, status: 'detaching' }, clock.now());
      }
      return settle(outcome, () => undefined);
    }
    case 'DeleteEni': {
      const outcome = await ec2.deleteNetworkInterface({ eniId: action.eniId });
      const isGone = outcome.kind === 'failed' && outcome.failure.kind === 'not-found';
      if (isGone) {
        ownWrites.deleted(view, action.eniId, clock.now());
        return { kind: 'done' };
      }
      return settle(outcome, () => ownWrites.deleted(view, action.eniId, clock.now()));
    }
  }
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

async function createEni(
  deps: ExecuteDeps,
  action: Extract<Action, { do: 'CreateEni' }>,
  node: { readonly instanceId: InstanceId; readonly name: string; readonly memory: NodeMemory },
): Promise<Executed> {
  const { intent } = action;
  const { memory } = node;
  const isFirstTry = memory.untriedIntents.delete(intent.id);
  const outcome = await deps.ec2.createNetworkInterface({
    clientToken: intent.id,
    subnetId: intent.subnetId,
    securityGroupIds: intent.securityGroupIds,
    secondaryAddressCount: intent.addressCount,
    description: `Eniwhere: pods of node ${node.name}`,
    tags: eniTags(deps.clusterName, node.instanceId, intent),
  });
  if (outcome.kind === 'failed' && isFirstTry) {
    // A throttled call never got to the subnet, so the next try is still the first. EC2's own trouble may have come
    // after the effect. Everything else says that nothing was made.
    if (outcome.failure.kind === 'throttled') memory.untriedIntents.add(intent.id);
    else if (outcome.failure.kind !== 'server-error') memory.failedIntents.add(intent.id);
  }
  return settle(outcome, (eni) => ownWrites.created(deps.view, eni, deps.clock.now()));
}

/** Some of a batch are gone already: removes each alone, and takes "not there" as removed. */
async function unassignOneByOne(
  deps: ExecuteDeps,
  action: Extract<Action, { do: 'UnassignAddresses' }>,
): Promise<Executed> {
  for (const ip of action.addresses) {
    const outcome = await deps.ec2.unassignPrivateIpAddresses({ eniId: action.eniId, addresses: [ip] });
    const isGone =
      outcome.kind === 'failed' &&
      (outcome.failure.kind === 'invalid' || outcome.failure.kind === 'not-found');
    if (outcome.kind === 'ok' || isGone) ownWrites.removed(deps.view, action.eniId, [ip], deps.clock.now());
    else return settle(outcome, () => undefined);
  }
  return { kind: 'done' };
}
