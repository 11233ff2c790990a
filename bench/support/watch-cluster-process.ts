// Follows nodes and pods, and prints what it took: as records from list to second list, as whole objects for one list.
// `watch-cluster-process.ts records|objects URL`.

import { createKubernetesCluster } from '../../src/adapters/kubernetes/create-kubernetes-cluster.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { createLog } from '../../src/adapters/system/log.ts';
import { systemRandom } from '../../src/adapters/system/random.ts';
import { createClusterView, recordEvent } from '../../src/controller/cluster-view.ts';

const [what, url = ''] = process.argv.slice(2);
const startedAt = performance.now();

interface Progress {
  listSeconds: number;
  listedMib: number;
  eventCount: number;
}

function finish(progress: Progress): void {
  console.log(
    JSON.stringify({
      ...progress,
      watchedMib: process.memoryUsage().rss,
      peakMib: process.resourceUsage().maxRSS * 1024,
    }),
  );
  process.exit(0);
}

/** As the controller does it: the adapter's records in the controller's view. */
function followRecords(): void {
  const progress: Progress = { listSeconds: 0, listedMib: 0, eventCount: 0 };
  const view = createClusterView();
  const { cluster } = createKubernetesCluster({
    connection: {
      server: url,
      insecureSkipTlsVerify: false,
      credentials: async () => ({}),
      refused: () => undefined,
    },
    clock: systemClock,
    random: systemRandom,
    log: createLog({ level: 'error', fd: 2 }),
    fieldManager: 'eniwhere-cli',
    reportingInstance: 'bench',
    version: '0.0.0',
  });
  let snapshotCount = 0;
  for (const kind of ['Node', 'Pod'] as const) {
    cluster.watch({
      kind,
      onEvent: (event) => {
        recordEvent(view, kind, event);
        if (event.type !== 'Snapshot') {
          progress.eventCount += 1;
          return;
        }
        snapshotCount += 1;
        if (snapshotCount === 2) {
          progress.listSeconds = (performance.now() - startedAt) / 1000;
          progress.listedMib = process.memoryUsage().rss;
        }
        // Both kinds have been watched, and pods, the slower ones, have been listed anew.
        if (snapshotCount > 2 && kind === 'Pod') finish(progress);
      },
    });
  }
}

interface Whole {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** A client that keeps objects as they come, in pages, too. The list alone: with a watch and a second list it takes minutes. */
async function followObjects(): Promise<void> {
  const stores = new Map<string, Map<string, Whole>>();
  const keyOf = ({ metadata: { name, namespace = '' } }: Whole): string => `${namespace}/${name}`;
  const list = async (path: string): Promise<void> => {
    const store = new Map<string, Whole>();
    let token = '';
    do {
      const answer = await fetch(`${url}${path}?limit=500${token === '' ? '' : `&continue=${token}`}`);
      const page = (await answer.json()) as {
        readonly metadata: { readonly continue?: string };
        readonly items: readonly Whole[];
      };
      for (const object of page.items) store.set(keyOf(object), object);
      token = page.metadata.continue ?? '';
    } while (token !== '');
    stores.set(path, store);
  };
  const paths = ['/api/v1/nodes', '/api/v1/pods'];
  await Promise.all(paths.map(list));
  const progress: Progress = {
    listSeconds: (performance.now() - startedAt) / 1000,
    listedMib: process.memoryUsage().rss,
    eventCount: 0,
  };
  finish(progress);
}

if (what === 'objects') await followObjects();
else followRecords();
