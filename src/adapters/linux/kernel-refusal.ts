// How code on a Worker's side reports that the kernel said no, or nothing: thrown, and made a value at the Worker's border.

import { constants } from 'node:os';
import { done, failed, type Outcome, unknown } from '../../ports/outcome.ts';

/** A refusal as a value. It is both a StackFailure and a SocketFailure. */
export interface KernelFailure {
  readonly step: string;
  readonly errno: string;
  readonly message: string;
}

/** What to do about refusals that are of one cause wherever they come from. */
const CURES: Readonly<Record<string, string>> = {
  EPERM: 'run as root, or in a user namespace that owns the network namespace (unshare -Urnm)',
  EROFS: '/proc/sys is read-only here: a container must be privileged, or have it mounted writable',
};

/** The kernel refused `step`. `errno` is its name for the error, `detail` its own text where it gave one. */
export class KernelRefusal extends Error {
  readonly step: string;
  readonly errno: string;
  readonly detail: string;

  constructor(step: string, errno: string, detail = CURES[errno] ?? '') {
    super(`${step}: ${errno}${detail === '' ? '' : ` (${detail})`}`);
    this.name = 'KernelRefusal';
    this.step = step;
    this.errno = errno;
    this.detail = detail;
  }
}

/** The kernel did not answer in time: what was asked for may or may not have happened. */
export class NoAnswer extends Error {
  constructor(step: string) {
    super(`${step}: no answer from the kernel`);
    this.name = 'NoAnswer';
  }
}

/** Linux has two names for some numbers; the first of each pair is the one that manual pages lead with. */
const PREFERRED_NAMES = ['EAGAIN', 'EOPNOTSUPP', 'EDEADLK'];

const names = new Map<number, string>();
for (const [name, number] of Object.entries(constants.errno)) {
  if (!names.has(number) || PREFERRED_NAMES.includes(name)) names.set(number, name);
}

/** The name of an errno number, such as `ENOENT`. */
export const errnoName = (number: number): string => names.get(number) ?? `errno ${number}`;

/** A refusal from an error that node:fs threw; anything else is a programming mistake and goes on as it is. */
export function refusalOf(step: string, error: unknown): KernelRefusal {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error) {
    return new KernelRefusal(step, error.code);
  }
  throw error;
}

/** What a Worker sends back of `run`: the border at which refusals become values. */
export function outcomeOf(run: () => unknown): Outcome<unknown, KernelFailure> {
  try {
    return done(run());
  } catch (error) {
    return outcomeOfError(error);
  }
}

/** The same of what takes its time. */
export async function laterOutcomeOf(run: () => Promise<unknown>): Promise<Outcome<unknown, KernelFailure>> {
  try {
    return done(await run());
  } catch (error) {
    return outcomeOfError(error);
  }
}

function outcomeOfError(error: unknown): Outcome<unknown, KernelFailure> {
  if (error instanceof KernelRefusal) {
    return failed({ step: error.step, errno: error.errno, message: error.message });
  }
  if (error instanceof NoAnswer) return unknown(error.message);
  throw error;
}

/** Runs `run`; answers undefined when the kernel refuses it with one of the named errors. */
export function unless<T>(errnos: readonly string[], run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof KernelRefusal && errnos.includes(error.errno)) return undefined;
    throw error;
  }
}
