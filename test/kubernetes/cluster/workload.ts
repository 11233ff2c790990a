// Deployments that the end-to-end test runs, and what kubectl says of their pods.

import { isIP } from 'node:net';
import { IMAGE } from '../../runtime/support/busybox-image.ts';
import { eventually } from '../../runtime/support/eventually.ts';
import type { ControlPlane } from '../control-plane.ts';

export interface PodSeen {
  readonly name: string;
  readonly node: string;
  readonly address: string;
  readonly ready: boolean;
  readonly phase: string;
  readonly restarts: number;
}

/**
 * A web server in each pod, which answers with the pod's name, and a Service before them. The pods are spread evenly over
 * the nodes, cordoned ones counted in unless `whenUnsatisfiable` says otherwise.
 */
export const webDeployment = (
  name: string,
  replicas: number,
  whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway' = 'DoNotSchedule',
): readonly object[] => [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          terminationGracePeriodSeconds: 1,
          // There is no name service.
          dnsPolicy: 'Default',
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable,
              labelSelector: { matchLabels: { app: name } },
            },
          ],
          containers: [
            {
              name: 'web',
              image: IMAGE,
              imagePullPolicy: 'Never',
              command: [
                'sh',
                '-c',
                'mkdir -p /tmp/www && hostname > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www',
              ],
              ports: [{ containerPort: 8080 }],
              readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] },
  },
];

interface PodObject {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number }[];
  };
}

/** Pods with the label, those that are being deleted left out. */
export async function podsOf(
  plane: ControlPlane,
  selector: string,
  namespace = 'default',
): Promise<readonly PodSeen[]> {
  const { items } = JSON.parse(
    await plane.kubectl('get', 'pods', '-n', namespace, '-l', selector, '-o', 'json'),
  ) as { readonly items: readonly PodObject[] };
  return items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata, spec, status }) => ({
      name: metadata.name,
      node: spec.nodeName ?? '',
      address: status.podIP ?? '',
      ready: status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false,
      phase: status.phase,
      restarts: (status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
    }));
}

/** Waits until exactly `count` pods are there, all ready, and answers them. */
export async function readyPods(
  plane: ControlPlane,
  request: { readonly app: string; readonly count: number; readonly withinMs: number },
): Promise<readonly PodSeen[]> {
  let last: readonly PodSeen[] = [];
  return eventually(`${request.count} pods of ${request.app} are ready`, request.withinMs, async () => {
    // The API server may be away at this moment.
    last = await podsOf(plane, `app=${request.app}`).catch(() => last);
    return last.length === request.count && last.every(({ ready, address }) => ready && isIP(address) === 4)
      ? last
      : undefined;
  });
}

/** Run in a pod, prints what the web server at that place answers: a pod's name. Busybox' own wget needs a name service. */
export const fetchCommand = (address: string, port: number): readonly string[] => [
  'sh',
  '-c',
  `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${address} ${port}`,
];

/** The last line of what `fetchCommand` printed. */
export const answerOf = (printed: string): string => printed.trim().split('\n').at(-1) ?? '';

export const fetchFrom = async (
  plane: ControlPlane,
  pod: string,
  to: { readonly address: string; readonly port: number },
): Promise<string> => answerOf(await plane.kubectl('exec', pod, '--', ...fetchCommand(to.address, to.port)));
