// The prefix of pod links' names (AWS_VPC_K8S_CNI_VETHPREFIX): by it, the datapath tells pods from everything else.

import { quote } from '../address/quote.ts';
import { err, ok, type Result } from '../result.ts';

/** Beginnings of link names that are not pods' (kernel, systemd's predictable names, common software). */
const OTHERS_NAMES: readonly string[] = [
  'bond',
  'br',
  'cali',
  'cni',
  'docker',
  'dummy',
  'enX',
  'eno',
  'enp',
  'ens',
  'enx',
  'eth',
  'ifb',
  'kube',
  'lo',
  'lxc',
  'nodelocaldns',
  'tun',
  'veth',
  'virbr',
  'vlan',
  'wg',
  'wlan',
];

/**
 * Accepts one to four characters. A prefix under which another link's name could fall is an error: the guard would take
 * that link for a pod's and drop what comes in by it, in the worst case the node's own traffic.
 */
export function parseVethPrefix(text: string): Result<string, string> {
  if (!/^[A-Za-z0-9_-]{1,4}$/.test(text))
    return err(
      `${quote(text)} is not a link prefix: write one to four letters, digits, "_" or "-", such as "eni"`,
    );
  const clash = OTHERS_NAMES.find((name) => name.startsWith(text) || text.startsWith(name));
  return clash === undefined
    ? ok(text)
    : err(
        `link prefix "${text}" would also take links named ${clash}... for pods: write another, such as "eni"`,
      );
}
