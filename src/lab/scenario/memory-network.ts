// The network where there are no namespaces: each node's kernel is data, and no packet ever moves.

import type { InstanceId, NodeName } from '../../domain/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LabEc2 } from '../ec2/lab-ec2.ts';
import { createMemoryKernel, type MemoryKernel } from '../linux/memory-kernel.ts';
import { createMemoryStack } from '../linux/memory-stack.ts';
import { addAnswer, addRequest, delAnswer, delRequest } from './cni-calls.ts';
import type { PodRuntime } from './kubelet.ts';
import type { HandleCni, LabNetwork, Seat } from './lab-network.ts';

/** A link shows up in the guest so long after EC2 says attached, milliseconds. */
const LINK_DELAY_MS = 200;

export function createMemoryNetwork({
  ec2,
  clock,
}: {
  readonly ec2: LabEc2;
  readonly clock: Clock;
}): LabNetwork {
  // instance id -> its kernel
  const kernels = new Map<InstanceId, MemoryKernel>();
  const subscription = ec2.onAttachment(({ eni, attachment, status }) => {
    const kernel = kernels.get(attachment.instanceId);
    if (kernel === undefined) return;
    if (status === 'detached') kernel.unplugLink(eni.mac);
    if (status === 'attached')
      clock.timer(LINK_DELAY_MS, `link ${eni.mac}`, () => {
        if (ec2.truth.eni(eni.eniId)?.attachment?.attachmentId === attachment.attachmentId)
          kernel.plugLink(eni.mac);
      });
  });
  return {
    places: {
      spot: () => undefined,
      target: () => undefined,
      addressBehind: (seen) => seen,
      instanceBehind: () => undefined,
    },
    joinNode: (node) => {
      const kernel = createMemoryKernel();
      kernels.set(node.instanceId, kernel);
      for (const eni of ec2.truth.enisOf(node.instanceId)) kernel.plugLink(eni.mac);
      return Promise.resolve(seatOn(kernel, node.name, clock));
    },
    close: () => {
      subscription.close();
      return Promise.resolve();
    },
  };
}

function seatOn(kernel: MemoryKernel, name: NodeName, clock: Clock): Seat {
  let handle: HandleCni | undefined;
  const unreachable = {
    kind: 'Refused',
    code: 11,
    message: `the agent of ${name} cannot be reached`,
  } as const;
  const runtime: PodRuntime = {
    makeNamespace: (_, containerId) => {
      const path = `/var/run/netns/${containerId}`;
      kernel.makeNamespace(path);
      return Promise.resolve(path);
    },
    removeNamespace: (_, path) => {
      kernel.removeNamespace(path);
      return Promise.resolve();
    },
    add: async (sandbox) =>
      handle === undefined ? unreachable : addAnswer(await handle(addRequest(sandbox))),
    del: async (sandbox) =>
      handle === undefined ? unreachable : delAnswer(await handle(delRequest(sandbox))),
  };
  return {
    openStack: () => createMemoryStack({ kernel, clock }),
    runtime,
    serve: (served) => {
      handle = served;
      return Promise.resolve({
        close: () => {
          if (handle === served) handle = undefined;
          return Promise.resolve();
        },
      });
    },
  };
}
