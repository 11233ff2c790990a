// The actions of a timeline: what people, the scheduler and other tenants of the subnet do.

import { familyOf } from '../../domain/address/ip.ts';
import { assert } from '../../domain/result.ts';
import type { EniConfigManifest } from '../../protocol/crd/eni-config.ts';
import type { NodeNetworkClassManifest } from '../../protocol/crd/node-network-class.ts';
import { changeSubnet } from './change-subnet.ts';
import type { Interrupt } from './interrupt.ts';
import { type Lab, livingPods } from './lab.ts';
import { matchPods, showEndpoint, showPod } from './schema-words.ts';
import { listed } from './sighting.ts';
import type { Action, ActionOf } from './step-schema.ts';

/** Does the action and answers what was done, for the report. `section` is the caller's. */
export async function perform(
  lab: Lab,
  action: Exclude<Action, { verb: 'section' }>,
  interrupt: Interrupt,
): Promise<string> {
  switch (action.verb) {
    case 'wait':
      await Promise.race([lab.clock.sleep(action.request, 'scenario waits'), interrupt.whenRequested]);
      return `wait ${action.request} ms`;
    case 'launchNode':
      await lab.launchNode(action.request);
      return `launch node ${action.request}`;
    case 'createPods':
      return createPods(lab, action.request);
    case 'deletePods': {
      const pods = matchPods(action.request, livingPods(lab));
      for (const pod of pods) lab.cluster.admin.startPodDeletion(pod);
      return `delete ${listed(pods.map(showPod))}`;
    }
    case 'annotateNode':
    case 'labelNode':
      return changeNode(lab, action.verb, action.request);
    case 'annotatePods':
      return annotatePods(lab, action.request);
    case 'annotateNamespace':
      return annotateNamespace(lab, action.request);
    case 'applyEniConfig':
      applyEniConfig(lab, action.request);
      return `apply ENIConfig ${action.request.name}`;
    case 'deleteEniConfig':
      lab.cluster.admin.deleteEniConfig(action.request);
      return `delete ENIConfig ${action.request}`;
    case 'applyNodeNetworkClass':
      applyNodeNetworkClass(lab, action.request);
      return `apply NodeNetworkClass ${action.request.name}`;
    case 'deleteNodeNetworkClass':
      lab.cluster.admin.deleteNodeNetworkClass(action.request);
      return `delete NodeNetworkClass ${action.request}`;
    case 'restartController': {
      await lab.restartController(action.request.settings);
      const changes = Object.entries(action.request.settings).map(([key, value]) => `${key}=${value}`);
      return `restart the controller with ${changes.length === 0 ? "the scenario's settings" : changes.join(' ')}`;
    }
    case 'restartAgent':
      await lab.nodes.get(action.request)?.restartAgent();
      return `restart the agent of ${action.request}`;
    case 'occupyAddresses':
    case 'fragmentSubnet':
    case 'defragmentSubnet':
    case 'freeAddresses':
    case 'tagSubnet':
      return changeSubnet(lab, action);
    case 'openConnection':
      return openConnection(lab, action.request);
    case 'ec2Faults':
      await lab.ec2.hand.setFaults(action.request);
      return `EC2 meets ${action.request.length === 0 ? 'no troubles' : listed(action.request.map(showFault))} from now on`;
  }
}

function showFault({ action, effect, odds, times }: ActionOf<'ec2Faults'>[number]): string {
  const often = times === undefined ? '' : ` ${times} times`;
  return `${effect.kind} of ${action}${odds === 1 ? '' : ` with odds ${odds}`}${often}`;
}

/** `kubectl apply`: also at the start of a run. */
export function applyEniConfig(lab: Pick<Lab, 'cluster'>, manifest: EniConfigManifest): void {
  lab.cluster.admin.applyEniConfig(manifest);
}

/** `kubectl apply`: also at the start of a run. */
export function applyNodeNetworkClass(lab: Pick<Lab, 'cluster'>, manifest: NodeNetworkClassManifest): void {
  lab.cluster.admin.applyNodeNetworkClass(manifest);
}

function createPods(lab: Lab, { node, pods, annotations }: ActionOf<'createPods'>): string {
  const home = lab.nodes.get(node);
  assert(home !== undefined, `the scenario's references are checked: node ${node}`);
  for (const pod of pods) {
    const [namespace = '', name = ''] = pod.split('/');
    lab.cluster.admin.applyPod({ namespace, name, nodeName: home.name, annotations });
  }
  const notes = Object.entries(annotations).map(([key, value]) => ` ${key}=${value}`);
  return `create ${listed(pods.map(showPod))} on ${node}${notes.length === 0 ? '' : ` with${notes.join('')}`}`;
}

function changeNode(lab: Lab, verb: 'annotateNode' | 'labelNode', request: ActionOf<'annotateNode'>): string {
  const object = { kind: 'Node', name: request.node } as const;
  const { admin } = lab.cluster;
  const apply = (key: string, value: string | undefined): void =>
    verb === 'annotateNode' ? admin.setAnnotation(object, key, value) : admin.setLabel(object, key, value);
  return `${verb === 'annotateNode' ? 'annotate' : 'label'} node ${request.node} ${change(request, apply)}`;
}

function annotatePods(lab: Lab, request: ActionOf<'annotatePods'>): string {
  const pods = matchPods(request.pods, livingPods(lab));
  const changes = change(request, (key, value) => {
    for (const name of pods) lab.cluster.admin.setAnnotation({ kind: 'Pod', name }, key, value);
  });
  return `annotate ${listed(pods.map(showPod))} ${changes}`;
}

function annotateNamespace(lab: Lab, request: ActionOf<'annotateNamespace'>): string {
  const { admin } = lab.cluster;
  const { namespace: name } = request;
  const annotations = { ...admin.get('Namespace', name)?.annotations };
  const changes = change(request, (key, value) => {
    if (value === undefined) delete annotations[key];
    else annotations[key] = value;
  });
  admin.applyNamespace({ name, annotations });
  return `annotate namespace ${name} ${changes}`;
}

/** Applies each change; answers them as kubectl would be told. */
function change(
  { set, remove }: Pick<ActionOf<'annotateNode'>, 'set' | 'remove'>,
  apply: (key: string, value: string | undefined) => void,
): string {
  for (const [key, value] of Object.entries(set)) apply(key, value);
  for (const key of remove) apply(key, undefined);
  return [
    ...Object.entries(set).map(([key, value]) => `${key}=${value}`),
    ...remove.map((key) => `${key}-`),
  ].join(' ');
}

async function openConnection(lab: Lab, request: ActionOf<'openConnection'>): Promise<string> {
  const text = `open connection "${request.name}" from ${showEndpoint(request.from)} to ${showEndpoint(request.to.endpoint)}`;
  if (lab.packets === undefined) return `${text}: not done, no network namespaces`;
  const from = lab.places.spot(request.from, request.family);
  const to = lab.places.target(request.to, request.family ?? (from && familyOf(from.address)));
  if (from === undefined || to === undefined) return `${text}: failed, an endpoint has no address yet`;
  const opened = await lab.packets.open(request.name, from, to);
  if (opened.kind === 'ok') return text;
  return `${text}: failed, ${opened.kind === 'failed' ? opened.failure.message : opened.cause}`;
}
