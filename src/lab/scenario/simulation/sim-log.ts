// What is told of a seeded run, line by line, each with its virtual time.

import type { Log } from '../../../ports/log.ts';
import type { Ec2Change } from '../../ec2/region.ts';
import type { Kernel } from '../../kernel/kernel.ts';

export function describeChange(change: Ec2Change): string {
  const who = `EC2, by ${change.actor}:`;
  switch (change.kind) {
    case 'EniCreated':
    case 'EniDeleted':
    case 'EniModified':
      return `${who} ${change.kind} ${change.eni.eniId} in ${change.eni.subnetId} with ${[...change.eni.addresses, ...change.eni.prefixes, ...change.eni.ipv6Prefixes].join(' ')}`;
    case 'AttachmentChanged':
      return `${who} ${change.eni.eniId} ${change.status} at ${change.attachment.instanceId}`;
    case 'AddressesChanged':
      return `${who} ${change.eni.eniId} got ${[...change.assigned, ...(change.ipv6Assigned ?? [])].join(' ')} and lost ${[...change.unassigned, ...(change.ipv6Unassigned ?? [])].join(' ')}`;
    case 'InstanceChanged':
      return `${who} instance ${change.instance.instanceId} ${change.instance.state}`;
    case 'SecurityGroupChanged':
    case 'SubnetChanged':
      return `${who} ${change.kind}`;
  }
}

export function createSimLog(
  kernel: Kernel,
  marks: Map<string, number>,
  onLog: ((line: string) => void) | undefined,
): Log {
  const startMs = kernel.now();
  const write =
    (level: string): Log['info'] =>
    (message, fields) =>
      onLog?.(
        `+${((kernel.now() - startMs) / 1000).toFixed(3)}s ${level} ${message}${fields === undefined ? '' : ` ${JSON.stringify(fields)}`}`,
      );
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    mark: (name) => {
      marks.set(name, (marks.get(name) ?? 0) + 1);
    },
  };
}
