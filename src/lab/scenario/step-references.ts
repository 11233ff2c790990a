// Checks of the timeline: each step refers only to what exists at its moment.

import type { PodKey } from '../../domain/ids.ts';
import { type Check, SELECTION_WORDS } from './check-schema.ts';
import { checkGroup, checkSubnet, type Complain, oneOf } from './reference-words.ts';
import { checkSettings } from './settings-references.ts';
import type { Scenario } from './scenario.ts';
import { type Endpoint, matchPods, type PodPattern, showPod } from './schema-words.ts';
import type { Action } from './step-schema.ts';

/** What exists at one moment of the timeline. */
interface Existing {
  readonly nodes: Set<string>;
  readonly eniConfigs: Set<string>;
  readonly classes: Set<string>;
  readonly pods: Set<PodKey>;
  readonly everPods: Set<PodKey>;
  readonly connections: Set<string>;
}

export function checkSteps(scenario: Scenario, complain: Complain): void {
  const existing: Existing = {
    nodes: new Set(scenario.nodes.filter(({ launch }) => launch === 'AtStart').map(({ name }) => name)),
    eniConfigs: new Set(scenario.eniConfigs.map(({ name }) => name)),
    classes: new Set(scenario.nodeNetworkClasses.map(({ name }) => name)),
    pods: new Set(),
    everPods: new Set(),
    connections: new Set(),
  };
  for (const [index, step] of scenario.steps.entries()) {
    const at = (path: readonly PropertyKey[]): readonly PropertyKey[] => ['steps', index, ...path];
    const complainHere: Complain = (path, message) => complain(at(path), message);
    if (step.kind === 'Action') checkAction({ scenario, existing, complain: complainHere }, step.action);
    else checkCheck({ scenario, existing, complain: complainHere }, step.expectation.check);
  }
}

interface Moment {
  readonly scenario: Scenario;
  readonly existing: Existing;
  readonly complain: Complain;
}

function checkAction(moment: Moment, action: Action): void {
  const { scenario, existing, complain } = moment;
  const { verb } = action;
  switch (action.verb) {
    case 'section':
    case 'wait':
    case 'annotateNamespace':
    case 'ec2Faults':
      return;
    case 'restartController':
      return checkSettings({ ...moment.scenario.settings, ...action.request.settings }, (path, message) =>
        complain([verb, 'settings', ...path], message),
      );
    case 'launchNode':
      if (existing.nodes.has(action.request)) complain([verb], `node ${action.request} is already launched`);
      else if (!scenario.nodes.some(({ name }) => name === action.request))
        complain(
          [verb],
          oneOf(
            'node',
            action.request,
            scenario.nodes.map(({ name }) => name),
          ),
        );
      existing.nodes.add(action.request);
      return;
    case 'createPods':
      checkNode(moment, action.request.node, [verb, 'node']);
      for (const key of action.request.pods) {
        if (existing.pods.has(key)) complain([verb], `pod ${showPod(key)} exists already`);
        existing.pods.add(key);
        existing.everPods.add(key);
      }
      return;
    case 'deletePods':
      checkPods(moment, action.request, [verb]);
      for (const key of matchPods(action.request, existing.pods)) existing.pods.delete(key);
      return;
    case 'annotatePods':
      return checkPods(moment, action.request.pods, [verb, 'pods']);
    case 'annotateNode':
    case 'labelNode':
      return checkNode(moment, action.request.node, [verb, 'node']);
    case 'restartAgent':
      return checkNode(moment, action.request, [verb]);
    case 'applyEniConfig':
    case 'deleteEniConfig':
    case 'applyNodeNetworkClass':
    case 'deleteNodeNetworkClass':
      return checkObject(moment, action);
    case 'tagSubnet':
    case 'occupyAddresses':
    case 'fragmentSubnet':
    case 'defragmentSubnet':
    case 'freeAddresses':
      return checkSubnet(scenario, action.request.subnet, [verb, 'subnet'], complain);
    case 'openConnection':
      checkEndpoint(moment, action.request.from, [verb, 'from']);
      checkEndpoint(moment, action.request.to.endpoint, [verb, 'to']);
      if (existing.connections.has(action.request.name))
        complain([verb, 'name'], `connection "${action.request.name}" is open already`);
      existing.connections.add(action.request.name);
      return;
  }
}

type ObjectAction = Extract<
  Action,
  { verb: 'applyEniConfig' | 'deleteEniConfig' | 'applyNodeNetworkClass' | 'deleteNodeNetworkClass' }
>;

function checkObject({ existing, complain }: Moment, action: ObjectAction): void {
  const { verb } = action;
  switch (action.verb) {
    case 'applyEniConfig':
      existing.eniConfigs.add(action.request.name);
      return;
    case 'deleteEniConfig':
      if (!existing.eniConfigs.delete(action.request))
        complain([verb], oneOf('ENIConfig', action.request, [...existing.eniConfigs]));
      return;
    case 'applyNodeNetworkClass':
      existing.classes.add(action.request.name);
      return;
    case 'deleteNodeNetworkClass':
      if (!existing.classes.delete(action.request))
        complain([verb], oneOf('NodeNetworkClass', action.request, [...existing.classes]));
      return;
  }
}

function checkCheck(moment: Moment, check: Check): void {
  const { existing, complain } = moment;
  const { kind } = check;
  switch (check.kind) {
    case 'selection': {
      checkNode(moment, check.want.node, [kind, 'node']);
      const known = [...existing.eniConfigs, ...SELECTION_WORDS];
      if (!known.includes(check.want.is)) complain([kind, 'is'], oneOf('ENIConfig', check.want.is, known));
      return;
    }
    case 'enis':
      checkNode(moment, check.want.node, [kind, 'node']);
      return checkPlacement(moment, check.want, kind);
    case 'addresses':
    case 'condition':
      return checkNode(moment, check.want.node, [kind, 'node']);
    case 'running':
      checkPods(moment, check.want.pods, [kind, 'pods']);
      return checkPlacement(moment, check.want, kind);
    case 'waiting':
    case 'reachAmong':
      return checkPods(moment, check.want.pods, [kind, 'pods']);
    case 'gone':
      return checkPods({ ...moment, existing: { ...existing, pods: existing.everPods } }, check.want.pods, [
        kind,
        'pods',
      ]);
    case 'reach':
      if (check.want.seenAs !== undefined && check.want.seenAs !== 'self')
        checkEndpoint(moment, check.want.seenAs, [kind, 'seenAs']);
      checkEndpoint(moment, check.want.from, [kind, 'from']);
      return checkEndpoint(moment, check.want.to.endpoint, [kind, 'to']);
    case 'blocked':
      checkEndpoint(moment, check.want.from, [kind, 'from']);
      return checkEndpoint(moment, check.want.to.endpoint, [kind, 'to']);
    case 'spoofing':
      for (const field of ['from', 'as', 'to'] as const)
        checkPods(moment, [{ key: check.want[field], any: false }], [kind, field]);
      return;
    case 'alive':
      for (const [index, name] of check.want.connections.entries())
        if (!existing.connections.has(name))
          complain([kind, 'connections', index], oneOf('connection', name, [...existing.connections]));
      return;
    case 'event':
      return checkEventSubject(moment, check.want.about, [kind, 'about']);
    case 'eniConfigStatus':
      if (!existing.eniConfigs.has(check.want.name))
        complain([kind, 'name'], oneOf('ENIConfig', check.want.name, [...existing.eniConfigs]));
      return;
    case 'classStatus':
      if (!existing.classes.has(check.want.name))
        complain([kind, 'name'], oneOf('NodeNetworkClass', check.want.name, [...existing.classes]));
      return;
  }
}

function checkPlacement(
  { scenario, complain }: Moment,
  want: { readonly subnet?: string | undefined; readonly securityGroups?: readonly string[] | undefined },
  kind: string,
): void {
  if (want.subnet !== undefined) checkSubnet(scenario, want.subnet, [kind, 'subnet'], complain);
  for (const [index, group] of (want.securityGroups ?? []).entries())
    checkGroup(scenario, group, () => [kind, 'securityGroups', index], complain);
}

function checkNode(
  { scenario, existing, complain }: Moment,
  name: string,
  path: readonly PropertyKey[],
): void {
  if (existing.nodes.has(name)) return;
  const later = scenario.nodes.some((node) => node.name === name);
  complain(
    path,
    later
      ? `node ${name} is not launched yet; add launchNode: ${name} before`
      : oneOf('node', name, [...existing.nodes]),
  );
}

function checkPods(
  { existing, complain }: Moment,
  patterns: readonly PodPattern[],
  path: readonly PropertyKey[],
): void {
  for (const [index, pattern] of patterns.entries()) {
    const matched = matchPods([pattern], existing.pods).filter((key) => existing.pods.has(key));
    if (matched.length > 0) continue;
    const name = `${showPod(pattern.key)}${pattern.any ? '*' : ''}`;
    const place = path.length > 1 && path[1] !== 'pods' ? path : [...path, index];
    complain(place, oneOf('pod', name, [...existing.pods].map(showPod)));
  }
}

function checkEndpoint(moment: Moment, endpoint: Endpoint, path: readonly PropertyKey[]): void {
  if (endpoint.kind === 'Node') checkNode(moment, endpoint.node, path);
  if (endpoint.kind === 'Pod' && !moment.existing.pods.has(endpoint.pod))
    moment.complain(path, oneOf('pod', showPod(endpoint.pod), [...moment.existing.pods].map(showPod)));
}

function checkEventSubject(moment: Moment, about: string, path: readonly PropertyKey[]): void {
  const [kind, ...rest] = about.split('/');
  const name = rest.join('/');
  if (kind === 'node') checkNode(moment, name, path);
  if (kind === 'pod' && !moment.existing.pods.has((rest.length === 1 ? `default/${name}` : name) as PodKey))
    moment.complain(path, oneOf('pod', name, [...moment.existing.pods].map(showPod)));
}
