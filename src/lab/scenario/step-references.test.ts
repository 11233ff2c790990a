// Steps: what is said, at which line and column, of one that cannot be played.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { mistakesOf, SMALL_WORLD } from './testing-scenario.ts';

suite('a step that cannot be played is told with its line and column', () => {
  const steps = (text: string): string => `${SMALL_WORLD}steps:\n${text}\n`;
  const cases: readonly [string, string, string][] = [
    [
      'an unknown subnet to fragment',
      steps('  - fragmentSubnet: { subnet: pod-a }'),
      'unknown subnet "pod-a"; did you mean "pods-a"?',
    ],
    [
      'a family that no packet has',
      steps('  - { expect: a, blocked: { from: node/n1, to: internet, family: IPX } }'),
      'it must be one of IPv4, IPv6',
    ],
    [
      'a bad setting in a step',
      steps('  - restartController: { settings: { WARM_IP_TARGET: many } }'),
      'x.yaml:24:54: WARM_IP_TARGET="many": expected a whole number from 0 to',
    ],
    [
      'a step that does nothing',
      steps('  - {}'),
      'x.yaml:24:5: steps[0]: a step needs expect:, or one of section, wait, launchNode,',
    ],
    [
      'a step that does two things',
      steps('  - { section: a, wait: 1s }'),
      'x.yaml:24:5: steps[0]: a step does one thing, but has section and wait; make them two steps',
    ],
    [
      'a step that does and expects',
      steps('  - { expect: a, wait: 1s }'),
      'x.yaml:24:5: steps[0]: a step with expect: does nothing, but has wait; make them two steps',
    ],
    [
      'a check without a sentence',
      steps('  - alive: { connections: [c] }'),
      'x.yaml:24:5: steps[0]: "alive" is a check; add expect: with the sentence for the report',
    ],
    [
      'a sentence without a check',
      steps('  - expect: all is well'),
      'x.yaml:24:5: steps[0]: expect: needs one of selection, enis,',
    ],
    [
      'two checks in one',
      steps('  - { expect: a, waiting: { pods: [p] }, gone: { pods: [p] } }'),
      'x.yaml:24:5: steps[0]: expect: checks one thing, but has waiting and gone; make them two steps',
    ],
    [
      'a time limit on an action',
      steps('  - { wait: 1s, within: 2s }'),
      'x.yaml:24:5: steps[0]: within and holdsFor belong to a step with expect:',
    ],
    [
      'a duration without a unit',
      steps('  - wait: "5"'),
      'x.yaml:24:11: steps[0].wait: "5" is not a duration; write it like 500ms, 20s or 2m',
    ],
    [
      'a duration as a number',
      steps('  - wait: 5'),
      'x.yaml:24:11: steps[0].wait must be a text (put it in quotes), but is 5',
    ],
    [
      'a mistyped verb',
      steps('  - createPod: { node: n1, pods: [a] }'),
      'x.yaml:24:5: steps[0]: unknown key "createPod"; did you mean "createPods"?',
    ],
    [
      'a pod on an unknown node',
      steps('  - createPods: { node: n3, pods: [a] }'),
      'x.yaml:24:25: unknown node "n3"; did you mean "n1"?',
    ],
    [
      'a pod on a node that is not launched',
      steps('  - createPods: { node: n2, pods: [a] }'),
      'x.yaml:24:25: node n2 is not launched yet; add launchNode: n2 before',
    ],
    [
      'a pod made twice',
      steps('  - createPods: { node: n1, pods: [a, a] }'),
      'x.yaml:24:17: pod a exists already',
    ],
    [
      'pods and prefix',
      steps('  - createPods: { node: n1, pods: [a], prefix: b, count: 1 }'),
      'x.yaml:24:17: steps[0].createPods: give either pods (a list of names), or prefix and count',
    ],
    [
      'a prefix without a count',
      steps('  - createPods: { node: n1, prefix: b }'),
      'x.yaml:24:17: steps[0].createPods: prefix and count belong together',
    ],
    [
      'an unknown pod',
      steps('  - deletePods: [b]'),
      'x.yaml:24:18: unknown pod "b"; there is none at this moment',
    ],
    [
      'a check of a pod that is deleted',
      steps(
        '  - createPods: { node: n1, pods: [a] }\n  - deletePods: [a]\n  - { expect: it runs, running: { pods: [a] } }',
      ),
      'x.yaml:26:42: unknown pod "a"; there is none at this moment',
    ],
    [
      'an endpoint of no kind',
      steps('  - { expect: a, blocked: { from: server, to: internet } }'),
      'x.yaml:24:35: steps[0].blocked.from: "server" is not an endpoint; write pod/NAME,',
    ],
    [
      'a port out of range',
      steps(`  - { expect: a, blocked: { from: node/n1, to: 'internet:99999' } }`),
      'steps[0].blocked.to: "internet:99999" has no port from 1 to 65535 after the colon',
    ],
    [
      'an unknown connection',
      steps('  - { expect: a, alive: { connections: [c] } }'),
      'x.yaml:24:41: unknown connection "c"; there is none at this moment',
    ],
    [
      'a selection of an unknown ENIConfig',
      steps('  - { expect: a, selection: { node: n1, is: eu-west-1b } }'),
      'x.yaml:24:45: unknown ENIConfig "eu-west-1b"; did you mean "eu-west-1a"?',
    ],
    [
      'an Event about an unknown pod',
      steps('  - { expect: a, event: { about: pod/x } }'),
      'x.yaml:24:34: unknown pod "x"; there is none at this moment',
    ],
    [
      'an ENIConfig deleted that is not there',
      steps('  - deleteEniConfig: other'),
      'x.yaml:24:22: unknown ENIConfig "other"; known: eu-west-1a',
    ],
  ];
  for (const [title, text, expected] of cases)
    test(title, () => {
      const told = mistakesOf(text);
      assert.ok(told.includes(expected), `told:\n${told}\nexpected:\n${expected}`);
    });
});
