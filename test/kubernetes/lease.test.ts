// Leadership on a real API server: the Lease object by its contract, and controllers that contend for one.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type ClosableLeaseStore,
  createKubernetesLeaseStore,
} from '../../src/adapters/kubernetes/kubernetes-lease-store.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { createLog } from '../../src/adapters/system/log.ts';
import { systemRandom } from '../../src/adapters/system/random.ts';
import { type Election, startElection } from '../../src/controller/leader-election.ts';
import { leaseStoreContract } from '../../src/ports/leadership.contract.ts';
import type { Term } from '../../src/ports/leadership.ts';
import { eventually } from '../runtime/support/eventually.ts';
import { connectionTo } from './api.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

/** Shorter than in life, so that a test can wait for a lapse. */
const TIMES = { durationMs: 8000, renewDeadlineMs: 4000, retryMs: 500 };
const LEADS_MS = 60_000;

let plane: ControlPlane;
const stores: ClosableLeaseStore[] = [];

before(async () => {
  plane = await startControlPlane();
});
after(async () => {
  for (const store of stores) store.close();
  await plane?.close();
});

let leaseCount = 0;
function storeOf(name: string): ClosableLeaseStore {
  const store = createKubernetesLeaseStore({
    connection: connectionTo(plane, plane.tokenOf('admin')),
    clock: systemClock,
    random: systemRandom,
    namespace: 'kube-system',
    name,
    fieldManager: 'eniwhere-controller',
    version: '0.0.0',
  });
  stores.push(store);
  return store;
}

leaseStoreContract('lease store on a real API server', async () => storeOf(`contract-${(leaseCount += 1)}`));

interface Contender {
  readonly term: () => Term | undefined;
  readonly election: Election;
}

function contend(identity: string): Contender {
  let term: Term | undefined;
  const election = startElection({
    store: storeOf('contended'),
    clock: systemClock,
    log: createLog({ level: 'error', fd: 2 }),
    identity,
    times: TIMES,
    onGained: (gained) => {
      term = gained;
    },
    onLost: () => {
      term = undefined;
    },
  });
  return { term: () => term, election };
}

test('[LEAD-1] two contend: one leads; it sends nothing while the API server is down; one leads again; the other follows when it gives up', async () => {
  const contenders = [contend('a'), contend('b')];
  const leaders = (): readonly Contender[] => contenders.filter(({ term }) => term()?.isHeld() === true);
  const oneLeads = (): Promise<Contender> =>
    eventually('one leads', LEADS_MS, () => {
      assert.ok(leaders().length <= 1);
      return leaders()[0];
    });
  const first = await oneLeads();
  const term = first.term();
  await plane.stopApiServer('SIGKILL');
  await eventually('nobody leads', LEADS_MS, () => (term?.isHeld() === false ? true : undefined));
  assert.deepEqual(leaders(), []);
  await plane.startApiServer();
  const second = await oneLeads();
  await second.election.stop();
  const other = contenders.find((one) => one !== second);
  await eventually('the other leads', LEADS_MS, () => (other?.term()?.isHeld() === true ? true : undefined));
  await other?.election.stop();
});
