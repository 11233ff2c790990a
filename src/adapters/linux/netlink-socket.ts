// A netlink socket: batches of requests with one acknowledgement each, dumps, and the kernel's extended error texts.

import { errnoName, KernelRefusal, NoAnswer } from './kernel-refusal.ts';
import {
  AF_NETLINK,
  bindSocket,
  closeSocket,
  openSocket,
  receive,
  sendAll,
  sendFromPool,
  setSocketOption,
  setSocketOptionBytes,
  SOCK_RAW,
  waitOneMillisecond,
} from './libc.ts';
import {
  attributesOf,
  decode,
  encode,
  NLM_F_ACK_TLVS,
  NLM_F_CAPPED,
  NLM_F_DUMP_INTR,
  NLM_F_ROOT_AND_MATCH,
  type NetlinkAnswer,
  type NetlinkMessage,
  NLMSG_HEADER_LENGTH,
  textOf,
} from './netlink-message.ts';

const NETLINK_ROUTE = 0;
const SOL_SOCKET = 1;
const SO_RCVTIMEO = 20;
const SOL_NETLINK = 270;
const NETLINK_CAP_ACK = 10;
const NETLINK_EXT_ACK = 11;
const NETLINK_GET_STRICT_CHK = 12;

const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
const NLMSGERR_ATTR_MSG = 1;

/** The kernel answers within milliseconds; a longer silence means that it is stuck. */
const ANSWER_TIMEOUT_SECONDS = 5;
/** More acknowledgements at once could overrun the socket's receive buffer. */
const BATCH_MESSAGE_MAX = 64;
const RECEIVE_BUFFER_BYTES = 65_536;
/** A dump is repeated when the kernel says that the data changed under it: with hundreds of links, and pods that come and go, often. */
const DUMP_TRY_MAX = 50;
const SEQUENCE_END = 2 ** 32;

export interface NetlinkSocket {
  readonly fd: number;
  /** Messages with other sequence numbers are leftovers of a request that was given up. */
  nextSequence: number;
}

/** What came of one message of a batch. */
interface MessageResult {
  readonly bodies: Buffer[];
  refusal?: KernelRefusal;
}

const receiveBuffer = Buffer.alloc(RECEIVE_BUFFER_BYTES);

/** Opens an rtnetlink socket in this thread's present namespace; it stays in that namespace for its life. */
export function openRouteSocket(): NetlinkSocket {
  const fd = openSocket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  try {
    const timeout = Buffer.alloc(16);
    timeout.writeBigInt64LE(BigInt(ANSWER_TIMEOUT_SECONDS));
    setSocketOptionBytes(fd, SOL_SOCKET, SO_RCVTIMEO, timeout);
    setSocketOption(fd, SOL_NETLINK, NETLINK_CAP_ACK, 1);
    setSocketOption(fd, SOL_NETLINK, NETLINK_EXT_ACK, 1);
    setSocketOption(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1);
    bindSocket(fd, netlinkAddress(), 'bind an rtnetlink socket');
  } catch (error) {
    closeSocket(fd);
    throw error;
  }
  return { fd, nextSequence: 1 };
}

export const closeNetlink = (socket: NetlinkSocket): void => closeSocket(socket.fd);

/** struct sockaddr_nl with a port id of the kernel's choice. */
export function netlinkAddress(): Buffer {
  const address = Buffer.alloc(12);
  address.writeUInt16LE(AF_NETLINK, 0);
  return address;
}

/**
 * Sends the messages in as few sends as possible and waits for all their acknowledgements. Throws the refusal of the
 * first refused message; the kernel has by then tried the later ones of the batch too. Answers the bodies of what each
 * message returned beside its acknowledgement.
 */
export function request(socket: NetlinkSocket, messages: readonly NetlinkMessage[]): readonly Buffer[][] {
  const results: Buffer[][] = [];
  for (let start = 0; start < messages.length; start += BATCH_MESSAGE_MAX) {
    for (const result of exchange(socket, messages.slice(start, start + BATCH_MESSAGE_MAX))) {
      if (result.refusal !== undefined) throw result.refusal;
      results.push(result.bodies);
    }
  }
  return results;
}

/** One message that is answered with one body, as RTM_GETLINK is. */
export function requestOne(socket: NetlinkSocket, message: NetlinkMessage): Buffer {
  const body = request(socket, [message])[0]?.[0];
  if (body === undefined) throw new KernelRefusal(message.step, 'ENODATA', 'acknowledged without an answer');
  return body;
}

function exchange(socket: NetlinkSocket, messages: readonly NetlinkMessage[]): readonly MessageResult[] {
  const first = takeSequences(socket, messages.length);
  const bytes = Buffer.concat(messages.map((message, index) => encode(message, first + index)));
  sendAll(socket.fd, bytes, messages[0]?.step ?? 'send nothing');
  const results = messages.map((): MessageResult => ({ bodies: [] }));
  let unanswered = messages.length;
  while (unanswered > 0) {
    for (const answer of receiveAnswers(socket, messages[messages.length - unanswered]?.step ?? '')) {
      const index = answer.sequence - first;
      const [result, message] = [results[index], messages[index]];
      if (result === undefined || message === undefined) continue;
      if (answer.type !== NLMSG_ERROR) {
        result.bodies.push(answer.body);
        continue;
      }
      const refusal = refusalIn(answer, message.step);
      if (refusal !== undefined) result.refusal = refusal;
      unanswered -= 1;
    }
  }
  return results;
}

/** One message, on a thread of the pool; the kernel's refusal rejects. The socket must be for this message alone. */
export async function requestFromPool(socket: NetlinkSocket, message: NetlinkMessage): Promise<void> {
  const sequence = takeSequences(socket, 1);
  await sendFromPool(socket.fd, encode(message, sequence), message.step);
  // The kernel has done all by the time that send returns: its acknowledgement is there.
  for (const answer of receiveAnswers(socket, message.step)) {
    const refusal = answer.sequence === sequence ? refusalIn(answer, message.step) : undefined;
    if (refusal !== undefined) throw refusal;
  }
}

/** All objects that a dump request (NLM_F_DUMP) lists: their bodies. */
export function dump(socket: NetlinkSocket, message: NetlinkMessage): readonly Buffer[] {
  for (let attempt = 1; attempt <= DUMP_TRY_MAX; attempt++) {
    const bodies = dumpOnce(socket, message);
    if (bodies !== 'interrupted') return bodies;
    waitOneMillisecond();
  }
  throw new KernelRefusal(message.step, 'EINTR', `changed under ${DUMP_TRY_MAX} dumps in a row`);
}

function dumpOnce(socket: NetlinkSocket, message: NetlinkMessage): readonly Buffer[] | 'interrupted' {
  const sequence = takeSequences(socket, 1);
  sendAll(
    socket.fd,
    encode({ ...message, flags: message.flags | NLM_F_ROOT_AND_MATCH }, sequence),
    message.step,
  );
  const bodies: Buffer[] = [];
  let interrupted = false;
  for (;;) {
    for (const answer of receiveAnswers(socket, message.step)) {
      if (answer.sequence !== sequence) continue;
      if ((answer.flags & NLM_F_DUMP_INTR) !== 0) interrupted = true;
      if (answer.type === NLMSG_ERROR || answer.type === NLMSG_DONE) {
        const refusal = refusalIn(answer, message.step);
        if (refusal !== undefined) throw refusal;
        return interrupted ? 'interrupted' : bodies;
      }
      bodies.push(answer.body);
    }
  }
}

function takeSequences(socket: NetlinkSocket, count: number): number {
  if (socket.nextSequence + count >= SEQUENCE_END) socket.nextSequence = 1;
  const first = socket.nextSequence;
  socket.nextSequence += count;
  return first;
}

function receiveAnswers(socket: NetlinkSocket, step: string): readonly NetlinkAnswer[] {
  try {
    const length = receive(socket.fd, receiveBuffer, 0);
    return decode(receiveBuffer.subarray(0, length));
  } catch (error) {
    if (!(error instanceof KernelRefusal)) throw error;
    // ENOBUFS: an acknowledgement was dropped, so its message's fate is not known either.
    if (error.errno === 'EAGAIN' || error.errno === 'ENOBUFS') throw new NoAnswer(step);
    throw new KernelRefusal(step, error.errno);
  }
}

/** struct nlmsgerr: a negative errno (0: acknowledged), the request's header, and the extended text. */
function refusalIn(answer: NetlinkAnswer, step: string): KernelRefusal | undefined {
  const errno = answer.body.length >= 4 ? -answer.body.readInt32LE(0) : 0;
  if (errno === 0) return undefined;
  // Without a text of the kernel's, undefined leaves the choice to KernelRefusal.
  return new KernelRefusal(step, errnoName(errno), extendedText(answer));
}

function extendedText(answer: NetlinkAnswer): string | undefined {
  if ((answer.flags & NLM_F_ACK_TLVS) === 0) return undefined;
  if (answer.type === NLMSG_DONE) return textOf(attributesOf(answer.body, 4), NLMSGERR_ATTR_MSG);
  const requestLength =
    (answer.flags & NLM_F_CAPPED) !== 0 ? NLMSG_HEADER_LENGTH : answer.body.readUInt32LE(4);
  const start = 4 + ((requestLength + 3) & ~3);
  return textOf(attributesOf(answer.body, start), NLMSGERR_ATTR_MSG);
}
