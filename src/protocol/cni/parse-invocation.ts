// One run of the plugin: what the runtime asks, read from the environment and stdin (CNI specification 1.1, sections 1 and 2).

import type { SandboxKey } from '../../domain/ipam/ledger.ts';
import { err, ok, type Result } from '../../domain/result.ts';
import { type CniRequest, DEFAULT_AGENT_SOCKET } from '../agent-socket/cni-message.ts';
import { CNI_ERROR, type CniError, cniError } from './cni-error.ts';
import { type CniResult, cniResult } from './cni-result.ts';
import { isObject, listOf, object, text, textMap } from './decode.ts';
import { readContainerId, readIfName, readNetnsPath, readPod } from './environment.ts';
import { parseJson } from './parse-json.ts';
import { CNI_VERSIONS, type CniVersion, isAtLeast, isCniVersion, NEWEST_CNI_VERSION } from './version.ts';
import { utf8Length } from '../utf8-length.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type CniInvocation =
  /** VERSION asks the plugin itself. */
  | { readonly kind: 'Version'; readonly cniVersion: CniVersion }
  | {
      readonly kind: 'Request';
      readonly request: CniRequest;
      /** The version in which to answer. */
      readonly cniVersion: CniVersion;
      readonly socketPath: string;
    };

/** An error, and the version in which to print it. */
export interface InvocationError {
  readonly error: CniError;
  readonly cniVersion: CniVersion;
}

interface NetConf {
  readonly cniVersion: CniVersion;
  readonly socketPath: string;
  readonly json: Readonly<Record<string, unknown>>;
}

type Parsed<T> = Result<T, CniError>;

/** Key of `capabilities` and of `runtimeConfig` (CNI conventions, dynamic plugin-specific fields). */
export const POD_ANNOTATIONS_CAPABILITY = 'io.kubernetes.cri.pod-annotations';

/** Longest path of a unix socket, bytes: sun_path without its final zero (unix(7)). */
const SOCKET_PATH_BYTES_MAX = 107;

/** Reads what the runtime asks. Every error names the variable or key, what is wrong, and what belongs there. */
export function parseInvocation(env: Environment, stdin: string): Result<CniInvocation, InvocationError> {
  const command = env['CNI_COMMAND'];
  if (command === 'VERSION') return ok({ kind: 'Version', cniVersion: askedVersion(stdin) });
  const conf = parseNetConf(stdin);
  if (!conf.ok) return err({ error: conf.error, cniVersion: askedVersion(stdin) });
  const { cniVersion, socketPath } = conf.value;
  const request = parseRequest(command, env, conf.value);
  return request.ok
    ? ok({ kind: 'Request', request: request.value, cniVersion, socketPath })
    : err({ error: request.error, cniVersion });
}

/** The version that stdin asks for, if it can be told and is spoken here; errors are then printed in it too. */
function askedVersion(stdin: string): CniVersion {
  const json = parseJson(stdin);
  const version = json.ok && isObject(json.value) ? json.value['cniVersion'] : undefined;
  return typeof version === 'string' && isCniVersion(version) ? version : NEWEST_CNI_VERSION;
}

const badConfig = (details: string): { ok: false; error: CniError } =>
  err(cniError(CNI_ERROR.invalidConfig, 'the network configuration is not valid', details));

function parseNetConf(stdin: string): Parsed<NetConf> {
  const json = parseJson(stdin);
  if (!json.ok) {
    const msg = 'the network configuration on stdin is not JSON';
    return err(cniError(CNI_ERROR.decodingFailure, msg, json.error));
  }
  if (!isObject(json.value)) return badConfig('stdin must hold an object');
  const { cniVersion, name, agentSocket = DEFAULT_AGENT_SOCKET } = json.value;
  if (typeof cniVersion !== 'string' || !isCniVersion(cniVersion)) {
    const details = `cniVersion is ${JSON.stringify(cniVersion) ?? 'missing'}; Eniwhere speaks ${CNI_VERSIONS.join(', ')}`;
    return err(cniError(CNI_ERROR.incompatibleVersion, 'this CNI version is not supported', details));
  }
  if (typeof name !== 'string' || !/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(name)) {
    return badConfig(
      `name is ${JSON.stringify(name) ?? 'missing'}; it must begin with a letter or digit, followed by letters, digits, "_", "." or "-"`,
    );
  }
  if (typeof agentSocket !== 'string' || !isSocketPath(agentSocket)) {
    return badConfig(
      `agentSocket is ${JSON.stringify(agentSocket)}; it must be an absolute path of at most ${SOCKET_PATH_BYTES_MAX} bytes`,
    );
  }
  return ok({ cniVersion, socketPath: agentSocket, json: json.value });
}

const isSocketPath = (path: string): boolean =>
  path.startsWith('/') && utf8Length(path) <= SOCKET_PATH_BYTES_MAX;

function parseRequest(command: string | undefined, env: Environment, conf: NetConf): Parsed<CniRequest> {
  switch (command) {
    case 'ADD':
      return parseAdd(env, conf);
    case 'DEL':
      return parseDel(env, conf);
    case 'CHECK':
      return since(conf, 'CHECK', '0.4.0') ?? parseCheck(env, conf);
    case 'STATUS':
      return since(conf, 'STATUS', '1.1.0') ?? ok({ command: 'STATUS' });
    case 'GC':
      return since(conf, 'GC', '1.1.0') ?? parseGc(conf);
    default: {
      const details = `CNI_COMMAND is ${JSON.stringify(command) ?? 'not set'}; it must be ADD, DEL, CHECK, STATUS, GC or VERSION`;
      return err(cniError(CNI_ERROR.invalidEnvironment, 'the command is not known', details));
    }
  }
}

/** An error where the configuration's version does not have the command yet. */
function since(
  conf: NetConf,
  command: string,
  least: CniVersion,
): { ok: false; error: CniError } | undefined {
  if (isAtLeast(conf.cniVersion, least)) return undefined;
  const details = `${command} exists since CNI ${least}; the configuration has cniVersion ${conf.cniVersion}`;
  return err(cniError(CNI_ERROR.incompatibleVersion, `the configuration does not allow ${command}`, details));
}

function readSandbox(env: Environment): Parsed<SandboxKey> {
  const containerId = readContainerId(env);
  if (!containerId.ok) return containerId;
  const ifName = readIfName(env);
  return ifName.ok ? ok({ containerId: containerId.value, ifName: ifName.value }) : ifName;
}

function parseAdd(env: Environment, conf: NetConf): Parsed<CniRequest> {
  const sandbox = readSandbox(env);
  if (!sandbox.ok) return sandbox;
  const netnsPath = readNetnsPath(env);
  if (!netnsPath.ok) return netnsPath;
  const pod = readPod(env);
  if (!pod.ok) return pod;
  if (conf.json['prevResult'] !== undefined) {
    return badConfig("eniwhere-cni makes the pod's interface, so it must be the first plugin of the list");
  }
  const podAnnotations = readPodAnnotations(conf);
  if (!podAnnotations.ok) return podAnnotations;
  return ok({
    command: 'ADD',
    sandbox: sandbox.value,
    netnsPath: netnsPath.value,
    pod: pod.value,
    ...(podAnnotations.value === undefined ? {} : { podAnnotations: podAnnotations.value }),
  });
}

/** Annotations outside this domain are not passed on: there may be kilobytes of them. */
const OWN_ANNOTATIONS = 'eniwhere.io/';

/** containerd and CRI-O pass the pod's annotations to a plugin that declares the capability of this name. */
function readPodAnnotations(conf: NetConf): Parsed<Readonly<Record<string, string>> | undefined> {
  const runtimeConfig = conf.json['runtimeConfig'];
  if (!isObject(runtimeConfig)) return ok(undefined);
  const given = runtimeConfig[POD_ANNOTATIONS_CAPABILITY];
  if (given === undefined || given === null) return ok(undefined);
  const all = textMap(given, `runtimeConfig["${POD_ANNOTATIONS_CAPABILITY}"]`);
  if (!all.ok) return badConfig(all.error);
  const own = Object.entries(all.value).filter(([key]) => key.startsWith(OWN_ANNOTATIONS));
  return ok(Object.fromEntries(own));
}

/**
 * DEL asks for as little as it can: what is missing only narrows what can be cleaned up (CNI specification, DEL), while
 * an error would keep the pod from going away.
 */
function parseDel(env: Environment, conf: NetConf): Parsed<CniRequest> {
  const sandbox = readSandbox(env);
  if (!sandbox.ok) return sandbox;
  const netnsPath = readNetnsPath(env);
  const pod = readPod(env);
  const prevResult = readPrevResult(conf);
  return ok({
    command: 'DEL',
    sandbox: sandbox.value,
    ...(netnsPath.ok && { netnsPath: netnsPath.value }),
    ...(pod.ok && { pod: pod.value }),
    ...(prevResult.ok && { prevResult: prevResult.value }),
  });
}

function parseCheck(env: Environment, conf: NetConf): Parsed<CniRequest> {
  const sandbox = readSandbox(env);
  if (!sandbox.ok) return sandbox;
  const netnsPath = readNetnsPath(env);
  if (!netnsPath.ok) return netnsPath;
  const prevResult = readPrevResult(conf);
  if (!prevResult.ok) return prevResult;
  return ok({
    command: 'CHECK',
    sandbox: sandbox.value,
    netnsPath: netnsPath.value,
    prevResult: prevResult.value,
  });
}

function readPrevResult(conf: NetConf): Parsed<CniResult> {
  const value = conf.json['prevResult'];
  if (value === undefined) return badConfig('prevResult is missing: the runtime must pass what ADD answered');
  const decoded = cniResult(value, 'prevResult');
  return decoded.ok ? decoded : badConfig(decoded.error);
}

/** libcni writes the list under both keys: the first was the specification's by mistake (containernetworking/cni#1101). */
const VALID_ATTACHMENT_KEYS = ['cni.dev/valid-attachments', 'cni.dev/attachments'] as const;

function parseGc(conf: NetConf): Parsed<CniRequest> {
  const key = VALID_ATTACHMENT_KEYS.find((one) => conf.json[one] !== undefined);
  // A missing list is not an empty one: taken for empty, it would release every pod of the node.
  if (key === undefined)
    return badConfig(`${VALID_ATTACHMENT_KEYS[0]} is missing: GC needs the attachments to keep`);
  const attachments = listOf(
    object<{ containerID: string; ifname: string }>({ containerID: text, ifname: text }),
    // Go writes a list that was never made as null: a runtime without a single pod.
  )(conf.json[key] ?? [], key);
  if (!attachments.ok) return badConfig(attachments.error);
  const validAttachments = attachments.value.map(
    ({ containerID, ifname }): SandboxKey => ({ containerId: containerID, ifName: ifname }),
  );
  return ok({ command: 'GC', validAttachments });
}
