// An API server with as many pods and nodes as asked for, made up page by page: `serve-cluster-process.ts PODS NODES`. Prints its URL.

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const [podCount = 0, nodeCount = 0] = process.argv.slice(2).map(Number);
/** Changes that each watch sends, and how many at a time. */
const EVENT_COUNT = 20_000;
const EVENTS_PER_TURN = 100;
const LIST_VERSION = 1_000_000;
const TIME = '2026-11-30T10:00:00Z';
const CONTAINERS = ['main', 'sidecar'];

/** What kubelet and controllers write of each field that they own: a good third of a real object. */
const managedFields = ['kube-controller-manager', 'kube-scheduler', 'kubelet'].map((manager) => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  time: TIME,
  fieldsType: 'FieldsV1',
  fieldsV1: Object.fromEntries(
    Array.from({ length: 12 }, (_, n) => [
      `f:field${n}`,
      { '.': {}, 'f:name': {}, [`k:{"uid":"${manager}-${n}"}`]: {} },
    ]),
  ),
}));

const uidOf = (kind: number, n: number): string =>
  `${kind}0000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;

const podOf = (n: number, version: number): unknown => {
  const app = `app-${n % 3000}`;
  const hash = (n % 3000).toString(36).padStart(10, 'x');
  return {
    metadata: {
      name: `${app}-${hash}-${n.toString(36).padStart(5, '0')}`,
      generateName: `${app}-${hash}-`,
      namespace: `team-${n % 200}`,
      uid: uidOf(1, n),
      resourceVersion: String(version),
      creationTimestamp: TIME,
      labels: { app, 'pod-template-hash': hash, 'app.kubernetes.io/name': app },
      annotations: { 'prometheus.io/scrape': 'true', 'kubernetes.io/config.seen': TIME },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${app}-${hash}`, uid: uidOf(2, n % 3000) },
      ],
      managedFields,
    },
    spec: podSpecOf(n, app),
    status: podStatusOf(n, app),
  };
};

const podSpecOf = (n: number, app: string): unknown => ({
  nodeName: `ip-10-0-${(n % nodeCount) >> 8}-${(n % nodeCount) & 255}.ec2.internal`,
  volumes: [
    {
      name: 'kube-api-access',
      projected: { sources: [{ serviceAccountToken: { expirationSeconds: 3607, path: 'token' } }] },
    },
  ],
  containers: CONTAINERS.map((name) => ({
    name,
    image: `registry.example/${app}/${name}:1.2.3`,
    env: Array.from({ length: 8 }, (_, e) => ({ name: `VARIABLE_${e}`, value: `value ${e} of ${app}` })),
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    volumeMounts: [{ name: 'kube-api-access', readOnly: true, mountPath: '/var/run/secrets' }],
    terminationMessagePath: '/dev/termination-log',
    imagePullPolicy: 'IfNotPresent',
  })),
  restartPolicy: 'Always',
  tolerations: ['not-ready', 'unreachable'].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  })),
});

const podStatusOf = (n: number, app: string): unknown => ({
  phase: 'Running',
  conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: TIME,
  })),
  podIP: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
  containerStatuses: CONTAINERS.map((name) => ({
    name,
    ready: true,
    restartCount: 0,
    image: `registry.example/${app}/${name}:1.2.3`,
    containerID: `containerd://${uidOf(3, n)}`,
    state: { running: { startedAt: TIME } },
  })),
});

const nodeOf = (n: number, version: number): unknown => ({
  metadata: {
    name: `ip-10-0-${n >> 8}-${n & 255}.ec2.internal`,
    uid: uidOf(4, n),
    resourceVersion: String(version),
    labels: Object.fromEntries(
      Array.from({ length: 20 }, (_, l) => [`node.example/label-${l}`, `value-${l}-${n % 7}`]),
    ),
    annotations: {
      'csi.volume.kubernetes.io/nodeid': `{"ebs.csi.aws.com":"i-${n.toString(16).padStart(17, '0')}"}`,
    },
    managedFields,
  },
  spec: { providerID: `aws:///eu-west-1a/i-${n.toString(16).padStart(17, '0')}` },
  status: {
    images: Array.from({ length: 50 }, (_, i) => ({
      names: [`registry.example/image-${i}@sha256:${'0'.repeat(64)}`],
      sizeBytes: 1e8 + i,
    })),
    conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
      type,
      status: 'False',
      lastHeartbeatTime: TIME,
    })),
  },
});

interface Kind {
  readonly count: number;
  readonly make: (n: number, version: number) => unknown;
}
const kinds: Readonly<Record<string, Kind>> = {
  '/api/v1/pods': { count: podCount, make: podOf },
  '/api/v1/nodes': { count: nodeCount, make: nodeOf },
};

function list({ count, make }: Kind, query: URLSearchParams, response: ServerResponse): void {
  const start = Number(query.get('continue') ?? 0);
  const end = Math.min(count, start + Number(query.get('limit')));
  const items = Array.from({ length: end - start }, (_, i) => make(start + i, start + i + 1));
  const metadata = {
    resourceVersion: String(LIST_VERSION),
    ...(end < count ? { continue: String(end) } : {}),
  };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ kind: 'List', metadata, items }));
}

/** Changes of objects one after the other, and then a gap: the client has to list anew. */
function watch({ count, make }: Kind, response: ServerResponse): void {
  let sent = 0;
  const turn = (): void => {
    for (let n = 0; n < EVENTS_PER_TURN && sent < EVENT_COUNT; n++, sent++) {
      const object = make((sent * 7) % count, LIST_VERSION + sent + 1);
      response.write(`${JSON.stringify({ type: 'MODIFIED', object })}\n`);
    }
    if (sent < EVENT_COUNT) setTimeout(turn, 20);
    else response.end(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410 } })}\n`);
  };
  turn();
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const kind = kinds[url.pathname];
  if (kind === undefined) response.writeHead(404).end();
  else if (url.searchParams.has('watch')) watch(kind, response);
  else list(kind, url.searchParams, response);
});
// A client that collects garbage for seconds must not find its connection closed.
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(`http://127.0.0.1:${port}`);
});
