// nftables through libnftables: each call is one transaction in the calling thread's namespace.

import koffi, { type LibraryHandle } from 'koffi';
import { KernelRefusal } from './kernel-refusal.ts';

const LIBRARY = 'libnftables.so.1';
const NFT_CTX_DEFAULT = 0;
/** Leaves counters and timeouts out of listings, so that equal tables are listed equally. */
const NFT_CTX_OUTPUT_STATELESS = 1 << 2;
/** Adds to each object the handle by which it is deleted. */
const NFT_CTX_OUTPUT_HANDLE = 1 << 3;

type Context = object;

interface Libnftables {
  readonly createContext: (flags: number) => Context | null;
  readonly freeContext: (context: Context) => void;
  readonly setOutputFlags: (context: Context, flags: number) => void;
  readonly bufferOutput: (context: Context) => number;
  readonly bufferError: (context: Context) => number;
  readonly output: (context: Context) => string | null;
  readonly error: (context: Context) => string | null;
  readonly run: (context: Context, commands: string) => number;
}

let loaded: Libnftables | undefined;

function library(): Libnftables {
  loaded ??= loadLibrary();
  return loaded;
}

function loadLibrary(): Libnftables {
  let nft: LibraryHandle;
  try {
    nft = koffi.load(LIBRARY);
  } catch (error) {
    throw new KernelRefusal(
      `load ${LIBRARY}`,
      'ENOENT',
      `install Debian's libnftables1: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return {
    createContext: nft.func('void *nft_ctx_new(uint32_t)'),
    freeContext: nft.func('void nft_ctx_free(void *)'),
    setOutputFlags: nft.func('void nft_ctx_output_set_flags(void *, unsigned int)'),
    bufferOutput: nft.func('int nft_ctx_buffer_output(void *)'),
    bufferError: nft.func('int nft_ctx_buffer_error(void *)'),
    output: nft.func('const char *nft_ctx_get_output_buffer(void *)'),
    error: nft.func('const char *nft_ctx_get_error_buffer(void *)'),
    run: nft.func('int nft_run_cmd_from_buffer(void *, const char *)'),
  };
}

/** What libnftables said of `commands`: its listing, or its error text. */
function run(
  commands: string,
  outputFlags = NFT_CTX_OUTPUT_STATELESS,
): { readonly accepted: boolean; readonly text: string } {
  const nft = library();
  // A context that is kept slows down and leaks; a fresh one costs microseconds.
  const context = nft.createContext(NFT_CTX_DEFAULT);
  if (context === null) throw new KernelRefusal('nft', 'ENOMEM', 'libnftables gave no context');
  try {
    nft.setOutputFlags(context, outputFlags);
    nft.bufferOutput(context);
    nft.bufferError(context);
    const accepted = nft.run(context, commands) === 0;
    return { accepted, text: (accepted ? nft.output(context) : nft.error(context)) ?? '' };
  } finally {
    nft.freeContext(context);
  }
}

/** Runs commands in nft syntax as one transaction: all or nothing. Returns what they print. */
export function runNft(step: string, commands: string): string {
  const { accepted, text } = run(commands);
  if (!accepted) throw new KernelRefusal(step, errnoIn(text), text.trim());
  return text;
}

/** The elements of a set that packets fill. They hold no brace. */
const LEARNED_ELEMENTS =
  /(^\tset \S+ \{\n(?:\t\t[^\n]*\n)*?\t\tflags dynamic[^\n]*\n(?:\t\t(?!elements)[^\n]*\n)*)\t\telements = \{[^}]*\}\n/gm;

/** The `inet` table as nft prints it, without counters and what packets put into it; undefined when there is none. */
export function listInetTable(table: string): string | undefined {
  const { accepted, text } = run(`list table inet ${table}\n`);
  if (accepted) return text.replace(LEARNED_ELEMENTS, '$1');
  if (errnoIn(text) === 'ENOENT') return undefined;
  throw new KernelRefusal(`nft list table inet ${table}`, errnoIn(text), text.trim());
}

/** All tables of family ip, among them those of iptables-nft, with handles. */
export function listIpRuleset(): string {
  const { accepted, text } = run('list ruleset ip\n', NFT_CTX_OUTPUT_STATELESS | NFT_CTX_OUTPUT_HANDLE);
  if (accepted) return text;
  throw new KernelRefusal('nft list ruleset ip', errnoIn(text), text.trim());
}

/** Replaces the `inet` table by `content` (`table inet NAME { ... }`) in one transaction, whether it was there or not. */
export function replaceInetTable(table: string, content: string): void {
  // Declaring the table first makes its deletion valid when there is none.
  runNft(`nft replace table inet ${table}`, `table inet ${table}\ndelete table inet ${table}\n${content}\n`);
}

/** libnftables gives the kernel's errors as strerror texts. */
const ERRNO_OF_TEXT: readonly (readonly [string, string])[] = [
  ['No such file or directory', 'ENOENT'],
  ['Operation not permitted', 'EPERM'],
  ['File exists', 'EEXIST'],
  ['Operation not supported', 'EOPNOTSUPP'],
  ['Device or resource busy', 'EBUSY'],
  ['Cannot allocate memory', 'ENOMEM'],
];

const errnoIn = (text: string): string =>
  ERRNO_OF_TEXT.find(([words]) => text.includes(words))?.[1] ?? 'EINVAL';
