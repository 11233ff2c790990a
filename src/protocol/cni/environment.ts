// The CNI environment variables, each checked by the rule that the specification gives it (section 2, Parameters).

import { err, ok, type Result } from '../../domain/result.ts';
import type { PodIdentity } from '../agent-socket/cni-message.ts';
import { CNI_ERROR, type CniError, cniError } from './cni-error.ts';
import { utf8Length } from '../utf8-length.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Parsed<T> = Result<T, CniError>;

/** Linux: IFNAMSIZ (16) less the final zero, bytes. */
const IF_NAME_BYTES_MAX = 15;

/** RFC 1123 subdomain (Kubernetes object names). */
const KUBERNETES_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const KUBERNETES_NAME_LENGTH_MAX = 253;

const bad = (name: string, value: string | undefined, rule: string): { ok: false; error: CniError } =>
  err(
    cniError(
      CNI_ERROR.invalidEnvironment,
      `the environment variable ${name} is not valid`,
      `${name} is ${value === undefined || value === '' ? 'not set' : JSON.stringify(value)}; ${rule}`,
    ),
  );

export function readContainerId(env: Environment): Parsed<string> {
  const value = env['CNI_CONTAINERID'];
  return value !== undefined && /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(value)
    ? ok(value)
    : bad(
        'CNI_CONTAINERID',
        value,
        'it must begin with a letter or digit, followed by letters, digits, "_", "." or "-"',
      );
}

export function readIfName(env: Environment): Parsed<string> {
  const value = env['CNI_IFNAME'];
  const fits =
    value !== undefined &&
    value !== '' &&
    value !== '.' &&
    value !== '..' &&
    !/[\s/:]/.test(value) &&
    utf8Length(value) <= IF_NAME_BYTES_MAX;
  return fits
    ? ok(value)
    : bad(
        'CNI_IFNAME',
        value,
        `it must be a link name: 1 to ${IF_NAME_BYTES_MAX} bytes without spaces, "/" or ":", and not "." or ".."`,
      );
}

export function readNetnsPath(env: Environment): Parsed<string> {
  const value = env['CNI_NETNS'];
  return value?.startsWith('/') === true
    ? ok(value)
    : bad('CNI_NETNS', value, "it must be the absolute path of the pod's network namespace");
}

/** The pod, from CNI_ARGS: `K8S_POD_NAMESPACE=shop;K8S_POD_NAME=cart-0;...` (CNI conventions; the order is free). */
export function readPod(env: Environment): Parsed<PodIdentity> {
  const value = env['CNI_ARGS'];
  const args = new Map<string, string>();
  for (const pair of (value ?? '').split(';').filter((one) => one !== '')) {
    const equals = pair.indexOf('=');
    if (equals < 1) return bad('CNI_ARGS', value, `"${pair}" is not of the form KEY=VALUE`);
    args.set(pair.slice(0, equals), pair.slice(equals + 1));
  }
  const namespace = args.get('K8S_POD_NAMESPACE') ?? '';
  const name = args.get('K8S_POD_NAME') ?? '';
  for (const [key, text] of [
    ['K8S_POD_NAMESPACE', namespace],
    ['K8S_POD_NAME', name],
  ] as const) {
    if (!KUBERNETES_NAME.test(text) || text.length > KUBERNETES_NAME_LENGTH_MAX) {
      return bad(
        'CNI_ARGS',
        value,
        `it must hold ${key}, the name of a Kubernetes object: Eniwhere serves pods`,
      );
    }
  }
  return ok({ namespace, name, uid: args.get('K8S_POD_UID') ?? '' });
}
