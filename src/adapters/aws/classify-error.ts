// What the SDK throws, classified once: EC2's codes by the cure they need, and what went wrong on the way by what it leaves open.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html

import { EC2ServiceException } from '@aws-sdk/client-ec2';
import type { Ec2Failure, Ec2Outcome } from '../../ports/ec2.ts';
import { failed, unknown } from '../../ports/outcome.ts';

type Kind = Ec2Failure['kind'];

/** A read that failed changed nothing; of a write that EC2 broke off nobody knows. */
export interface Call {
  readonly action: string;
  readonly effect: 'read' | 'write';
}

/** EC2's code -> kind. What is in no table is `not-found` when the code ends so, and else told to a person. */
const KIND_BY_CODE: ReadonlyMap<string, Kind> = new Map([
  ['RequestLimitExceeded', 'throttled'],
  ['Throttling', 'throttled'],
  ['ThrottlingException', 'throttled'],
  ['ThrottledException', 'throttled'],
  ['RequestThrottled', 'throttled'],
  ['RequestThrottledException', 'throttled'],
  ['EC2ThrottledException', 'throttled'],
  ['TooManyRequestsException', 'throttled'],
  ['InsufficientFreeAddressesInSubnet', 'subnet-full'],
  ['InsufficientCidrBlocks', 'no-free-block'],
  ['PrivateIpAddressLimitExceeded', 'eni-full'],
  ['AttachmentLimitExceeded', 'instance-full'],
  ['InvalidNetworkInterface.InUse', 'in-use'],
  ['InvalidNetworkInterfaceID.InUse', 'in-use'],
  ['DependencyViolation', 'in-use'],
  // The attachment is on its way on or off.
  ['IncorrectState', 'in-use'],
  // The instance is on its way out: for whoever wants an ENI on it, it is as good as gone.
  ['IncorrectInstanceState', 'not-found'],
  ['UnauthorizedOperation', 'unauthorized'],
  ['AccessDenied', 'unauthorized'],
  ['AccessDeniedException', 'unauthorized'],
  ['AuthFailure', 'unauthorized'],
  ['Blocked', 'unauthorized'],
  ['ExpiredToken', 'unauthorized'],
  ['ExpiredTokenException', 'unauthorized'],
  ['IncompleteSignature', 'unauthorized'],
  ['InvalidClientTokenId', 'unauthorized'],
  ['MissingAuthenticationToken', 'unauthorized'],
  ['OptInRequired', 'unauthorized'],
  ['PendingVerification', 'unauthorized'],
  ['RequestExpired', 'unauthorized'],
  ['SignatureDoesNotMatch', 'unauthorized'],
  ['UnrecognizedClientException', 'unauthorized'],
  ['InternalError', 'server-error'],
  ['InternalFailure', 'server-error'],
  ['RequestTimeout', 'server-error'],
  ['ServiceUnavailable', 'server-error'],
  ['Unavailable', 'server-error'],
]);

/** InvalidParameterValue stands for many things, told apart by EC2's text alone. */
const KIND_BY_TEXT: readonly { readonly action: string; readonly text: RegExp; readonly kind: Kind }[] = [
  {
    action: 'AttachNetworkInterface',
    text: /interface attached at device index/i,
    kind: 'device-index-taken',
  },
  { action: 'DeleteNetworkInterface', text: /currently in use/i, kind: 'in-use' },
  // What the caller wants gone is gone.
  { action: 'UnassignPrivateIpAddresses', text: /not assigned to interface/i, kind: 'not-found' },
  { action: 'UnassignIpv6Addresses', text: /not assigned to interface/i, kind: 'not-found' },
];

/** No connection came about, so EC2 never saw the request. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
]);
/** The connection broke, or the answer did not come in time: what became of the request is open. */
const BROKEN_OFF = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ERR_SOCKET_CLOSED']);
const TIMEOUT_NAMES = new Set(['TimeoutError', 'AbortError']);
const CREDENTIAL_NAMES = new Set(['CredentialsProviderError', 'TokenProviderError']);

/** Pure: the kind of a refusal of EC2. */
export function kindOf(refusal: {
  readonly action: string;
  readonly code: string;
  readonly message: string;
  /** Of the answer, when it is known. */
  readonly httpStatus?: number;
}): Kind {
  const { action, code, message, httpStatus = 400 } = refusal;
  const known = KIND_BY_CODE.get(code);
  if (known !== undefined) return known;
  if (code.endsWith('.NotFound')) return 'not-found';
  if (httpStatus === 429) return 'throttled';
  if (httpStatus >= 500) return 'server-error';
  if (code === 'InvalidParameterValue') {
    const meant = KIND_BY_TEXT.find((one) => one.action === action && one.text.test(message));
    if (meant !== undefined) return meant.kind;
  }
  return 'invalid';
}

/** Answers what `error`, thrown by the SDK, says about the call. Throws it again when it is none of the wire's doing. */
export function classifyError(error: unknown, call: Call): Ec2Outcome<never> {
  if (error instanceof EC2ServiceException) return refused(error, call);
  if (!(error instanceof Error)) throw error;
  const message = error.message === '' ? error.name : error.message;
  const code = codeOf(error);
  if (CREDENTIAL_NAMES.has(error.name)) {
    return failed({ kind: 'unauthorized', code: error.name, message });
  }
  if (NEVER_SENT.has(code)) return failed({ kind: 'server-error', code, message });
  if (BROKEN_OFF.has(code) || TIMEOUT_NAMES.has(error.name)) {
    return unknown(`${call.action} was not answered: ${message}`);
  }
  // A proxy's page, or half an answer: the SDK could not read it, and keeps the response with the error.
  const httpStatus = statusOf(error);
  if (httpStatus !== undefined) {
    return unknown(`the answer to ${call.action} (HTTP ${httpStatus}) cannot be read: ${message}`);
  }
  throw error;
}

function refused(error: EC2ServiceException, { action, effect }: Call): Ec2Outcome<never> {
  // Older front ends of EC2 say whose fault it is in the code, too.
  const code = error.name.replace(/^(Client|Server)\./, '');
  const { httpStatusCode, requestId } = error.$metadata;
  const text = error.message === '' ? code : error.message;
  const kind = kindOf({
    action,
    code,
    message: text,
    ...(httpStatusCode === undefined ? {} : { httpStatus: httpStatusCode }),
  });
  // AWS Support asks for the request's id first.
  const message = requestId === undefined ? text : `${text} (request ${requestId})`;
  // EC2 may have broken after the effect.
  if (kind === 'server-error' && effect === 'write') {
    return unknown(`EC2 broke off ${action}: ${code}: ${message}`);
  }
  return failed({ kind, code, message });
}

/** `code` of an error of Node's, or of the first of several attempts that it stands for. */
function codeOf(error: Error): string {
  if ('code' in error && typeof error.code === 'string') return error.code;
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return first instanceof Error ? codeOf(first) : '';
}

function statusOf(error: Error): number | undefined {
  const response: unknown = '$response' in error ? error.$response : undefined;
  if (typeof response !== 'object' || response === null || !('statusCode' in response)) return undefined;
  return typeof response.statusCode === 'number' ? response.statusCode : undefined;
}
