// `eniwhere lab up`: plays a scenario and keeps it running, with the commands to walk around in it.

import type { Command } from 'commander';
import type { Lab } from '../lab/scenario/lab.ts';
import { showPod } from '../lab/scenario/schema-words.ts';
import { type CliContext, type Ec2Place, EXIT, type LabHandBook, type NetworkWish } from './context.ts';
import { withLabOptions } from './lab-run.ts';
import { playScenario } from './play-scenario.ts';
import { POD_ANNOTATIONS_CAPABILITY } from '../protocol/cni/parse-invocation.ts';

interface LabOptions {
  readonly network: NetworkWish;
  readonly ec2: Ec2Place;
  readonly verbose: boolean;
}

export function addLabUp(lab: Command, context: CliContext, end: (exitCode: number) => void): void {
  withLabOptions(lab.command('up'))
    .summary('play a scenario and keep it running, to look around')
    .description(
      'Like `lab run`, but the nodes and pods stay until Ctrl-C, and the commands are printed that enter them and that ' +
        'use the CNI plugin by hand. Needs network namespaces.',
    )
    .addHelpText(
      'after',
      `
Examples:
  eniwhere lab up scenarios/smoke.yaml
  eniwhere lab up mine.yaml --verbose 2>lab.log`,
    )
    .action(async (file: string, options: LabOptions) => {
      if (options.network === 'memory') {
        context.complain(
          'eniwhere: `lab up` needs network namespaces: in memory there is nothing to enter\n',
        );
        return end(EXIT.usage);
      }
      const exitCode = await playScenario(context, file, {
        verbose: options.verbose,
        network: 'namespaces',
        ec2: options.ec2,
        afterwards: async ({ lab }, handBook) => {
          if (handBook === undefined) return;
          context.write(handBookText(lab, handBook));
          await context.whenInterrupted;
        },
      });
      end(exitCode);
    });
}

/** The commands that work in this lab as it stands. */
export function handBookText(lab: Pick<Lab, 'nodes'>, book: LabHandBook): string {
  const nodes = [...lab.nodes.values()];
  const pods = nodes.flatMap((node) =>
    [...node.kubelet.pods.values()].flatMap(({ pod, address, sandbox, phase }) =>
      phase === 'Running' && sandbox !== undefined ? [{ pod, address, path: sandbox.netnsPath }] : [],
    ),
  );
  const first = nodes[0];
  return [
    '',
    ...(book.enterFirst === undefined
      ? ['In another root shell:']
      : ['In another shell, first:', `  ${book.enterFirst}`]),
    '',
    'Nodes:',
    ...nodes.flatMap(({ name, netnsPath }) =>
      netnsPath === undefined ? [] : [`  ${book.inNamespace(netnsPath)} ip route show table all  # ${name}`],
    ),
    ...(pods.length === 0 ? [] : ['', 'Pods:']),
    ...pods.map(
      ({ pod, address, path }) => `  ${book.inNamespace(path)} ip addr  # ${showPod(pod)} ${address ?? ''}`,
    ),
    ...(first === undefined ? [] : byHand(first.name, book)),
    '',
    'Ctrl-C ends the lab and removes everything.',
    '',
  ].join('\n');
}

function byHand(node: string, book: LabHandBook): readonly string[] {
  const config = JSON.stringify({
    cniVersion: '1.0.0',
    name: 'eniwhere',
    type: 'eniwhere-cni',
    agentSocket: book.agentSocketOf(node),
    // As a runtime says of a pod that has no annotation: the lab's API server knows of none by this name.
    runtimeConfig: { [POD_ANNOTATIONS_CAPABILITY]: {} },
  });
  const call = (command: string): string =>
    `  echo '${config}' | CNI_COMMAND=${command} CNI_CONTAINERID=by-hand CNI_NETNS=/run/netns/by-hand CNI_IFNAME=eth0 ` +
    `CNI_PATH=/opt/cni/bin CNI_ARGS='K8S_POD_NAMESPACE=default;K8S_POD_NAME=by-hand' ${book.pluginPath}`;
  return [
    '',
    `The CNI plugin by hand, a pod on ${node}:`,
    '  ip netns add by-hand',
    call('ADD'),
    '  ip netns exec by-hand ip addr show dev eth0',
    call('DEL'),
    '  ip netns del by-hand',
  ];
}
