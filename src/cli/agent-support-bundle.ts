// `eniwhere agent support-bundle`: what a maintainer needs to know of a node, in one file, without secrets.

import { redact } from '../domain/redact.ts';
import type { AgentNode, BundleFile, BundlePart } from './agent-node.ts';
import { type CliContext, EXIT } from './context.ts';

/** A part that cannot be read is replaced by the reason: half a bundle helps more than none. */
export async function writeSupportBundle(
  { bundleParts, writeBundle }: AgentNode,
  { write, complain }: Pick<CliContext, 'write' | 'complain'>,
  path: string,
): Promise<number> {
  const files: BundleFile[] = [];
  for (const part of bundleParts) files.push(await readPart(part, complain));
  const written = await writeBundle(path, files);
  if (!written.ok) {
    complain(`the bundle cannot be written: ${written.error}\n`);
    return EXIT.broken;
  }
  write(`${path}: ${files.map(({ name }) => name).join(', ')}\n`);
  write('addresses, names of pods and ids of AWS are in it; tokens, keys and passwords are not\n');
  return EXIT.ok;
}

async function readPart({ name, read }: BundlePart, complain: CliContext['complain']): Promise<BundleFile> {
  try {
    return { name, text: redact(await read()) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    complain(`${name} is missing: ${why}\n`);
    return { name, text: `could not be read: ${redact(why)}\n` };
  }
}
