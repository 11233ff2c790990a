// The view of the cluster: which of two versions of a NodeNetwork stands when an answer and the watch cross.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeName } from '../domain/ids.ts';
import { emptyStatus, type NodeNetworkSpec } from '../domain/ipam/node-network.ts';
import type { NodeNetworkRecord } from '../ports/cluster.ts';
import { createClusterView, expectNodeNetwork, recordEvent } from './cluster-view.ts';

const NODE = 'n1' as NodeName;

/** The version of a NodeNetwork, all of one generation, as statuses are. */
const version = (resourceVersion: string): NodeNetworkRecord => ({
  name: NODE,
  uid: 'u1',
  resourceVersion,
  generation: 5,
  deleting: false,
  labels: {},
  annotations: {},
  spec: {} as NodeNetworkSpec,
  status: emptyStatus,
});

interface Row {
  readonly title: string;
  readonly held: string;
  /** What the watch brings between request and answer. */
  readonly brought: readonly string[];
  readonly answer: string;
  readonly stands: string;
}

const rows: readonly Row[] = [
  { title: 'is newer than what is held', held: '7', brought: [], answer: '9', stands: '9' },
  {
    title: 'may be older than an event, or will come by the watch,',
    held: '7',
    brought: ['8'],
    answer: '9',
    stands: '8',
  },
  { title: 'is what the watch has brought last', held: '7', brought: ['8', '9'], answer: '9', stands: '9' },
  { title: 'is what the watch has gone past', held: '7', brought: ['9', '11'], answer: '9', stands: '11' },
];

for (const { title, held, brought, answer, stands } of rows) {
  test(`[LV-2] an answer that ${title} leaves version ${stands}`, () => {
    const view = createClusterView();
    const apply = (one: string): void => {
      recordEvent(view, 'NodeNetwork', { type: 'Applied', object: version(one) });
    };
    apply(held);
    const takeIn = expectNodeNetwork(view, NODE);
    for (const one of brought) apply(one);
    takeIn(version(answer));
    assert.equal(view.nodeNetworks.get(NODE)?.resourceVersion, stands);
  });
}

test('what the API server says of an object that did not change since it was asked stands, whatever came before', () => {
  const view = createClusterView();
  for (const one of ['9', '7']) recordEvent(view, 'NodeNetwork', { type: 'Applied', object: version(one) });
  expectNodeNetwork(view, NODE)(version('9'));
  assert.equal(view.nodeNetworks.get(NODE)?.resourceVersion, '9');
});
