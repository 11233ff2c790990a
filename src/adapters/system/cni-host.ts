// The node's folders of CNI plugins and network configurations.

import { execFile } from 'node:child_process';
import { type FileHandle, open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CniHost, CniHostFailure } from '../../ports/cni-host.ts';
import { done, failed, type Outcome } from '../../ports/outcome.ts';
import { isMissing, removeFile, replaceFile } from './durable-file.ts';

export interface CniHostOptions {
  readonly pluginDirectory: string;
  readonly configDirectory: string;
  /** The executable that is installed. */
  readonly pluginSource: string;
}

const CONFIG_MODE = 0o644;
const PLUGIN_MODE = 0o755;
/** The plugin is a hundred megabytes: compared and copied in pieces, bytes. */
const PIECE_BYTES = 1024 * 1024;
/** VERSION answers at once, or the plugin is broken. */
const VERSION_MS = 5000;
const VERSION_BYTES_MAX = 64 * 1024;
/** Endings of what libcni and CRI-O read. */
const CONFIG_ENDINGS = ['.conf', '.conflist', '.json'];

export function createCniHost(options: CniHostOptions): CniHost {
  const config = (name: string): string => join(options.configDirectory, name);
  const plugin = (name: string): string => join(options.pluginDirectory, name);
  /** What the installed file was when it was last found the same, to spare the next comparison. */
  let known: string | undefined;
  return {
    listConfigs: () =>
      outcomeOf(async () => {
        const names = await readdir(options.configDirectory);
        // By code unit, as the runtimes sort.
        return names.filter((name) => CONFIG_ENDINGS.some((ending) => name.endsWith(ending))).sort();
      }),
    readConfig: (name) =>
      outcomeOf(() =>
        readFile(config(name), 'utf8').catch((error: unknown) => {
          if (isMissing(error)) return undefined;
          throw error;
        }),
      ),
    writeConfig: (name, text) =>
      outcomeOf(() =>
        replaceFile({ path: config(name), mode: CONFIG_MODE, write: (file) => file.writeFile(text) }),
      ),
    removeConfig: (name) => outcomeOf(() => removeFile(config(name))),
    installPlugin: (name) =>
      outcomeOf(async () => {
        const path = plugin(name);
        const before = await fingerprint(path);
        if (before !== undefined && before === known) return 'Same';
        const isSame = before !== undefined && (await haveSameContent(options.pluginSource, path));
        if (!isSame) {
          await replaceFile({ path, mode: PLUGIN_MODE, write: (file) => copy(options.pluginSource, file) });
        }
        known = await fingerprint(path);
        return isSame ? 'Same' : 'Installed';
      }),
    removePlugin: (name) => outcomeOf(() => removeFile(plugin(name))),
    pluginVersions: (name) => pluginVersions(plugin(name)),
  };
}

/** Changes with every change of the file; undefined: there is none that can be run. */
async function fingerprint(path: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeMs, mode } = await stat(path);
    return (mode & 0o777) === PLUGIN_MODE ? `${ino} ${size} ${mtimeMs}` : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function haveSameContent(a: string, b: string): Promise<boolean> {
  if ((await stat(a)).size !== (await stat(b)).size) return false;
  const [first, second] = [await open(a, 'r'), await open(b, 'r')];
  try {
    const [one, other] = [Buffer.alloc(PIECE_BYTES), Buffer.alloc(PIECE_BYTES)];
    for (;;) {
      const count = await fill(first, one);
      if ((await fill(second, other)) !== count) return false;
      if (Buffer.compare(one.subarray(0, count), other.subarray(0, count)) !== 0) return false;
      if (count < PIECE_BYTES) return true;
    }
  } finally {
    await first.close();
    await second.close();
  }
}

/** Reads until the piece is full or the file ends. */
async function fill(file: FileHandle, piece: Buffer): Promise<number> {
  let count = 0;
  while (count < PIECE_BYTES) {
    const { bytesRead } = await file.read(piece, count, PIECE_BYTES - count, null);
    if (bytesRead === 0) break;
    count += bytesRead;
  }
  return count;
}

async function copy(from: string, to: FileHandle): Promise<void> {
  const source = await open(from, 'r');
  try {
    const piece = Buffer.alloc(PIECE_BYTES);
    for (let count = await fill(source, piece); count > 0; count = await fill(source, piece)) {
      await to.writeFile(piece.subarray(0, count));
    }
  } finally {
    await source.close();
  }
}

/** CNI specification, section 2, VERSION. */
function pluginVersions(path: string): Promise<Outcome<readonly string[], CniHostFailure>> {
  return new Promise((resolve) => {
    const fail = (why: string): void => resolve(failed({ message: `the CNI plugin ${path} ${why}` }));
    const child = execFile(
      path,
      { env: { CNI_COMMAND: 'VERSION' }, timeout: VERSION_MS, maxBuffer: VERSION_BYTES_MAX },
      (error, stdout) => {
        if (error !== null) return fail(isMissing(error) ? 'is not there' : `fails: ${error.message}`);
        const versions = supportedVersions(stdout);
        if (versions === undefined) return fail('does not tell its versions');
        resolve(done(versions));
      },
    );
    // One that cannot be started has closed it already; the error above says why.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end('{"cniVersion":"1.0.0"}');
  });
}

function supportedVersions(stdout: string): readonly string[] | undefined {
  try {
    const answer: unknown = JSON.parse(stdout);
    const hasVersions = typeof answer === 'object' && answer !== null && 'supportedVersions' in answer;
    if (!hasVersions || !Array.isArray(answer.supportedVersions)) return undefined;
    return answer.supportedVersions.filter((version) => typeof version === 'string');
  } catch {
    return undefined;
  }
}

async function outcomeOf<T>(run: () => Promise<T>): Promise<Outcome<T, CniHostFailure>> {
  try {
    return done(await run());
  } catch (error) {
    // The system's own text names the call and the path.
    return failed({ message: error instanceof Error ? error.message : String(error) });
  }
}
