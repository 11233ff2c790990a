// JSON codec of the agent socket.

import type { SandboxKey } from '../../domain/ipam/ledger.ts';
import { err, type Result } from '../../domain/result.ts';
import { CNI_ERROR, type CniError, type CniErrorCode } from '../cni/cni-error.ts';
import { cniResult } from '../cni/cni-result.ts';
import { type Decoder, isObject, listOf, object, oneOf, optional, text, textMap } from '../cni/decode.ts';
import { parseJson } from '../cni/parse-json.ts';
import type {
  AddRequest,
  CheckRequest,
  CniReply,
  CniRequest,
  DelRequest,
  GcRequest,
  PodIdentity,
} from './cni-message.ts';

const sandbox = object<SandboxKey>({ containerId: text, ifName: text });
const pod = object<PodIdentity>({ namespace: text, name: text, uid: text });

const requests: { readonly [Command in CniRequest['command']]: Decoder<CniRequest> } = {
  ADD: object<AddRequest>({
    command: oneOf('ADD'),
    sandbox,
    netnsPath: text,
    pod,
    podAnnotations: optional(textMap),
  }),
  DEL: object<DelRequest>({
    command: oneOf('DEL'),
    sandbox,
    netnsPath: optional(text),
    pod: optional(pod),
    prevResult: optional(cniResult),
  }),
  CHECK: object<CheckRequest>({ command: oneOf('CHECK'), sandbox, netnsPath: text, prevResult: cniResult }),
  STATUS: object({ command: oneOf('STATUS') }),
  GC: object<GcRequest>({ command: oneOf('GC'), validAttachments: listOf(sandbox) }),
};

const errorCode: Decoder<CniErrorCode> = (value, path) => {
  const known = Object.values(CNI_ERROR).find((code) => code === value);
  return known === undefined
    ? err(`${path} is no error code: ${JSON.stringify(value)}`)
    : { ok: true, value: known };
};

const replies: { readonly [Kind in CniReply['kind']]: Decoder<CniReply> } = {
  Result: object({ kind: oneOf('Result'), result: cniResult }),
  Done: object({ kind: oneOf('Done') }),
  Error: object({
    kind: oneOf('Error'),
    error: object<CniError>({ code: errorCode, msg: text, details: text }),
  }),
};

export const encodeRequest = (request: CniRequest): string => JSON.stringify(request);
export const encodeReply = (reply: CniReply): string => JSON.stringify(reply);

/** The request, or a sentence naming the field that is wrong. */
export const decodeRequest = (body: string): Result<CniRequest, string> =>
  decodeTagged(body, { what: 'request', tag: 'command', decoders: requests });

/** The reply, or a sentence naming the field that is wrong. */
export const decodeReply = (body: string): Result<CniReply, string> =>
  decodeTagged(body, { what: 'reply', tag: 'kind', decoders: replies });

interface Tagged<T> {
  readonly what: string;
  readonly tag: string;
  readonly decoders: Readonly<Record<string, Decoder<T>>>;
}

function decodeTagged<T>(body: string, { what, tag, decoders }: Tagged<T>): Result<T, string> {
  const json = parseJson(body);
  if (!json.ok) return err(`${what} is not JSON: ${json.error}`);
  const name = isObject(json.value) ? json.value[tag] : undefined;
  const decoder = typeof name === 'string' && Object.hasOwn(decoders, name) ? decoders[name] : undefined;
  if (decoder === undefined) {
    return err(`${what}.${tag} must be one of ${Object.keys(decoders).join(', ')}`);
  }
  return decoder(json.value, what);
}
