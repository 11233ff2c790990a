// The whole of the end-to-end test's world: an AWS account, a control plane in it, and nodes that join and leave.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeBusyboxImage } from '../../runtime/support/busybox-image.ts';
import { type ControlPlane, startControlPlane } from '../control-plane.ts';
import { type Cloud, makeCloud, type ZoneLetter } from './cloud.ts';
import { bootMachine, type Machine } from './machine.ts';
import { makeProductImage } from './product-image.ts';

export interface Cluster {
  readonly cloud: Cloud;
  readonly plane: ControlPlane;
  /** Launches an instance and boots it: its kubelet registers the node, and nothing else is done. */
  join(name: string, letter: ZoneLetter): Promise<Machine>;
  /** The nodes that are there. */
  machine(name: string): Machine;
  /** The instance is terminated, and with it all that ran there. */
  terminate(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Makes the account and the control plane, with no node yet. `nodeNames` are those that may join. */
export async function makeCluster(prefix: string, nodeNames: readonly string[]): Promise<Cluster> {
  const cloud = await makeCloud(prefix);
  const machines = new Map<string, Machine>();
  let plane: ControlPlane | undefined;
  const close = async (): Promise<void> => {
    await Promise.all([...machines.values()].map((machine) => machine.powerOff()));
    await plane?.close();
    await cloud.close();
  };
  try {
    plane = await startControlPlane({
      controllers: true,
      place: cloud.onPrem,
      users: [
        { name: 'system:kube-proxy' },
        ...nodeNames.map((name) => ({ name: `system:node:${name}`, groups: ['system:nodes'] })),
      ],
    });
    const images = makeImages(plane.directory);
    const there = plane;
    const machine = (name: string): Machine => {
      const found = machines.get(name);
      if (found === undefined) throw new Error(`the test has no node ${name}`);
      return found;
    };
    return {
      cloud,
      plane,
      join: async (name, letter) => {
        const { instance, netnsPath } = await cloud.launch(name, letter);
        const joined = await bootMachine({ name, instance, netnsPath, plane: there, images });
        machines.set(name, joined);
        return joined;
      },
      machine,
      terminate: async (name) => {
        const gone = machine(name);
        machines.delete(name);
        await gone.powerOff();
        cloud.terminate(gone.instance);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What nodes would pull from a registry. */
function makeImages(directory: string): readonly string[] {
  const place = (name: string): string => {
    const path = join(directory, name);
    mkdirSync(path);
    return path;
  };
  return [makeBusyboxImage(place('busybox-image')), makeProductImage(place('product-image'))];
}
