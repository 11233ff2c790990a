// The connection that a kubeconfig describes: the file that kubectl uses, credential programs included.
// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import { err, ok, type Result } from '../../domain/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Credentials, KubernetesConnection } from './connection.ts';

const text = z.string().nullish();
const cluster = z.object({
  server: z.string(),
  'certificate-authority': text,
  'certificate-authority-data': text,
  'insecure-skip-tls-verify': z.boolean().nullish(),
  'tls-server-name': text,
  'proxy-url': text,
});
const exec = z.object({
  command: z.string(),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  apiVersion: z.string(),
  installHint: text,
});
const user = z.object({
  token: text,
  tokenFile: text,
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  username: text,
  password: text,
  exec: exec.nullish(),
  'auth-provider': z.object({ name: z.string() }).nullish(),
});
const kubeconfig = z.object({
  'current-context': text,
  contexts: z.array(z.object({ name: z.string(), context: z.object({ cluster: z.string(), user: text }) })),
  clusters: z.array(z.object({ name: z.string(), cluster })),
  users: z.array(z.object({ name: z.string(), user: user.nullish() })).nullish(),
});

type Cluster = z.output<typeof cluster>;
type User = z.output<typeof user>;
type Exec = z.output<typeof exec>;

export interface KubeconfigOptions {
  /** Files as in KUBECONFIG; the first that names something wins. */
  readonly paths: readonly string[];
  /** The file's own when absent. */
  readonly context?: string;
  readonly clock: Clock;
  /** For credential programs. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface ChosenConnection {
  readonly connection: KubernetesConnection;
  readonly context: string;
}

interface Located<T> {
  readonly value: T;
  /** Of the file: relative paths in it are meant from there. */
  readonly directory: string;
}

/** Answers which file and which name in it is at fault. Files that do not exist are passed over, as kubectl does. */
export async function kubeconfigConnection(
  options: KubeconfigOptions,
): Promise<Result<ChosenConnection, string>> {
  const files = await readFiles(options.paths);
  if (!files.ok) return files;
  const where = options.paths.join(', ');
  if (files.value.length === 0)
    return err(
      `there is no kubeconfig (${where}); give --kubeconfig, or: aws eks update-kubeconfig --name CLUSTER`,
    );
  const name =
    options.context ??
    files.value.map(({ value }) => value['current-context']).find((one) => (one ?? '') !== '');
  if (name === undefined || name === null)
    return err(`${where}: no current-context is set; give --context, or: kubectl config use-context NAME`);
  const context = find(files.value, (file) => file.contexts.find((one) => one.name === name)?.context);
  if (context === undefined) {
    const names = files.value.flatMap(({ value }) => value.contexts.map((one) => one.name));
    return err(`${where}: there is no context "${name}"; there are ${names.join(', ') || 'none'}`);
  }
  const { cluster: clusterName, user: userName } = context.value;
  const found = find(files.value, (file) => file.clusters.find((one) => one.name === clusterName)?.cluster);
  if (found === undefined)
    return err(`${where}: context "${name}" names cluster "${clusterName}", which is not there`);
  if ((found.value['proxy-url'] ?? '') !== '')
    return err(`${where}: cluster "${clusterName}" has a proxy-url, which is not supported`);
  const who = find(
    files.value,
    (file) => (file.users ?? []).find((one) => one.name === userName)?.user ?? undefined,
  );
  const legacy = who?.value['auth-provider']?.name;
  if (legacy !== undefined)
    return err(
      `${where}: user "${userName}" uses auth-provider "${legacy}", which kubectl has dropped too; use exec`,
    );
  return ok({
    context: name,
    connection: connectionOf(found, who ?? { value: {}, directory: '.' }, options),
  });
}

async function readFiles(
  paths: readonly string[],
): Promise<Result<readonly Located<z.output<typeof kubeconfig>>[], string>> {
  const found: Located<z.output<typeof kubeconfig>>[] = [];
  for (const path of paths) {
    let content: string;
    try {
      content = await readFile(path, 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') continue;
      return err(`${path} cannot be read: ${messageOf(error)}`);
    }
    let raw: unknown;
    try {
      raw = parse(content);
    } catch (error) {
      return err(`${path} is no YAML: ${messageOf(error)}`);
    }
    const parsed = kubeconfig.safeParse(raw);
    if (!parsed.success)
      return err(
        `${path} is no kubeconfig: ${parsed.error.issues.map((one) => `${one.path.join('.')}: ${one.message}`).join('; ')}`,
      );
    found.push({ value: parsed.data, directory: dirname(path) });
  }
  return ok(found);
}

function find<F, T>(files: readonly Located<F>[], pick: (file: F) => T | undefined): Located<T> | undefined {
  for (const { value: file, directory } of files) {
    const value = pick(file);
    if (value !== undefined) return { value, directory };
  }
  return undefined;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function connectionOf(
  { value: at, directory }: Located<Cluster>,
  who: Located<User>,
  options: KubeconfigOptions,
): KubernetesConnection {
  const serverName = at['tls-server-name'] ?? '';
  let kept: { readonly credentials: Credentials; readonly until: number } | undefined;
  return {
    server: at.server.replace(/\/+$/, ''),
    ...(serverName === '' ? {} : { serverName }),
    insecureSkipTlsVerify: at['insecure-skip-tls-verify'] ?? false,
    credentials: async () => {
      if (kept !== undefined && options.clock.now() < kept.until) return kept.credentials;
      const ca = await dataOrFile(at['certificate-authority-data'], at['certificate-authority'], directory);
      const { until, ...own } = await credentialsOf(who, options);
      const credentials = { ...own, ...(ca === undefined ? {} : { ca }) };
      kept = { credentials, until };
      return credentials;
    },
    refused: () => {
      kept = undefined;
    },
  };
}

interface Timed extends Credentials {
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** Files may be renewed under the same name. */
const REREAD_MS = 60_000;
/** A token is asked for anew so long before it ends. */
const RENEW_BEFORE_MS = 60_000;

async function credentialsOf(
  { value: who, directory }: Located<User>,
  options: KubeconfigOptions,
): Promise<Timed> {
  const until = options.clock.now() + REREAD_MS;
  if (who.exec !== null && who.exec !== undefined) return byProgram(who.exec, directory, options);
  const cert = await dataOrFile(who['client-certificate-data'], who['client-certificate'], directory);
  const key = await dataOrFile(who['client-key-data'], who['client-key'], directory);
  const token =
    who.token ?? (who.tokenFile ? (await readFile(from(directory, who.tokenFile), 'utf8')).trim() : '');
  const basic =
    who.username && who.password
      ? `Basic ${Buffer.from(`${who.username}:${who.password}`).toString('base64')}`
      : undefined;
  const authorization = token === '' ? basic : `Bearer ${token}`;
  return {
    until,
    ...(authorization === undefined ? {} : { authorization }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

const from = (directory: string, path: string): string => (isAbsolute(path) ? path : join(directory, path));

async function dataOrFile(
  data: string | null | undefined,
  path: string | null | undefined,
  directory: string,
): Promise<string | undefined> {
  if (data) return Buffer.from(data, 'base64').toString('utf8');
  return path ? readFile(from(directory, path), 'utf8') : undefined;
}

const execCredential = z.object({
  status: z.object({
    token: text,
    clientCertificateData: text,
    clientKeyData: text,
    expirationTimestamp: text,
  }),
});

/** A program that does not answer within this time asks a question that nobody sees. */
const PROGRAM_TIMEOUT_MS = 30_000;

const run = promisify(execFile);

/** https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins */
async function byProgram(
  program: Exec,
  directory: string,
  { clock, env }: KubeconfigOptions,
): Promise<Timed> {
  const { command, args, apiVersion, installHint } = program;
  const extra = Object.fromEntries((program.env ?? []).map(({ name, value }) => [name, value]));
  const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec: { interactive: false } });
  const path = command.includes('/') ? from(directory, command) : command;
  const answer = await run(path, args ?? [], {
    env: { ...env, ...extra, KUBERNETES_EXEC_INFO: info },
    timeout: PROGRAM_TIMEOUT_MS,
  }).catch((error: unknown) => {
    const hint = installHint ? `\n${installHint}` : '';
    throw new Error(`the kubeconfig's credential program ${command} failed: ${messageOf(error)}${hint}`);
  });
  const { status } = execCredential.parse(JSON.parse(answer.stdout));
  const ends = Date.parse(status.expirationTimestamp ?? '');
  return {
    until: Number.isNaN(ends) ? clock.now() + REREAD_MS : ends - RENEW_BEFORE_MS,
    ...(status.token ? { authorization: `Bearer ${status.token}` } : {}),
    ...(status.clientCertificateData ? { cert: status.clientCertificateData } : {}),
    ...(status.clientKeyData ? { key: status.clientKeyData } : {}),
  };
}
