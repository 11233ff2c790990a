// The view of the cluster: which of two versions of an object stands when an answer and the watch cross.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeName } from '../domain/ids.ts';
import { emptyStatus, type NodeNetworkSpec } from '../domain/ipam/node-network.ts';
import type { NodeNetworkRecord, NodeRecord } from '../ports/cluster.ts';
import { createClusterView, expectNode, expectNodeNetwork, recordEvent } from './cluster-view.ts';

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

const node = (uid: string, resourceVersion: string): NodeRecord => ({
  name: NODE,
  uid,
  resourceVersion,
  generation: 1,
  deleting: false,
  labels: {},
  annotations: {},
  taints: [],
  extendedResources: {},
});

interface NodeRow {
  readonly title: string;
  readonly brought: (apply: (one: NodeRecord) => void, remove: (one: NodeRecord) => void) => void;
  /** uid and version; undefined: there is none. */
  readonly stands: string | undefined;
}

const nodeRows: readonly NodeRow[] = [
  { title: 'comes before anything else stands', brought: () => undefined, stands: 'u1/8' },
  {
    title: 'comes after the watch has told that the node is gone brings nothing back',
    brought: (_apply, remove) => remove(node('u1', '7')),
    stands: undefined,
  },
  {
    title: 'comes after another node of the name has been seen leaves that one',
    brought: (apply, remove) => {
      remove(node('u1', '7'));
      apply(node('u2', '9'));
    },
    stands: 'u2/9',
  },
  {
    title: 'comes after a later version leaves that one',
    brought: (apply) => apply(node('u1', '9')),
    stands: 'u1/9',
  },
];

for (const { title, brought, stands } of nodeRows) {
  test(`[LV-2] an answer to a write of a node that ${title}`, () => {
    const view = createClusterView();
    const apply = (object: NodeRecord): void => void recordEvent(view, 'Node', { type: 'Applied', object });
    apply(node('u1', '7'));
    const takeIn = expectNode(view, NODE);
    brought(apply, (object) => void recordEvent(view, 'Node', { type: 'Deleted', object }));
    takeIn(node('u1', '8'));
    const now = view.nodes.get(NODE);
    assert.equal(now && `${now.uid}/${now.resourceVersion}`, stands);
  });
}

test('[COST-2] what an own write has replaced is not believed though the watch tells of it after the answer', () => {
  const view = createClusterView();
  const apply = (one: string): void => {
    recordEvent(view, 'NodeNetwork', { type: 'Applied', object: version(one) });
  };
  apply('7');
  expectNodeNetwork(view, NODE, version('7'))(version('9'));
  apply('7');
  assert.equal(view.nodeNetworks.get(NODE)?.resourceVersion, '9');
  apply('9');
  apply('11');
  assert.equal(view.nodeNetworks.get(NODE)?.resourceVersion, '11');
});

test('a version of the same name that an object made anew bears is believed', () => {
  const view = createClusterView();
  expectNodeNetwork(view, NODE, version('7'))(version('9'));
  recordEvent(view, 'NodeNetwork', { type: 'Applied', object: { ...version('7'), uid: 'u2' } });
  assert.equal(view.nodeNetworks.get(NODE)?.uid, 'u2');
});

test('[LV-1] an answer brings no NodeNetwork back that the watch has told the deletion of meanwhile', () => {
  const view = createClusterView();
  recordEvent(view, 'NodeNetwork', { type: 'Applied', object: version('7') });
  const takeIn = expectNodeNetwork(view, NODE);
  recordEvent(view, 'NodeNetwork', { type: 'Deleted', object: version('8') });
  takeIn(version('7'));
  assert.equal(view.nodeNetworks.has(NODE), false);
});
