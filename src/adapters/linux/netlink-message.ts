// The netlink wire format (linux/netlink.h): messages and attributes, built and taken apart. All numbers are little-endian, as on every machine Node's Linux builds run on.

export const NLMSG_HEADER_LENGTH = 16;
const ATTRIBUTE_HEADER_LENGTH = 4;
const NLA_F_NESTED = 0x8000;
const NLA_TYPE_MASK = 0x3fff;

export const NLM_F_REQUEST = 0x1;
export const NLM_F_ACK = 0x4;
export const NLM_F_DUMP_INTR = 0x10;
export const NLM_F_ACK_TLVS = 0x200;
export const NLM_F_CAPPED = 0x100;
export const NLM_F_ROOT_AND_MATCH = 0x300;
export const NLM_F_REPLACE = 0x100;
export const NLM_F_EXCL = 0x200;
export const NLM_F_CREATE = 0x400;

/** A request of ours. `step` is the same as an `ip` command line would put it, and names the message in errors. */
export interface NetlinkMessage {
  readonly step: string;
  readonly type: number;
  /** Beyond NLM_F_REQUEST and NLM_F_ACK, which every message carries. */
  readonly flags: number;
  readonly body: Buffer;
}

/** A message as received. */
export interface NetlinkAnswer {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  readonly body: Buffer;
}

/** Attribute type -> payload. A type that occurs twice keeps its last payload, as the kernel does. */
export type Attributes = ReadonlyMap<number, Buffer>;

const aligned = (length: number): number => (length + 3) & ~3;

/** One attribute, padded. */
export function attribute(type: number, payload: Buffer): Buffer {
  const length = ATTRIBUTE_HEADER_LENGTH + payload.length;
  const bytes = Buffer.alloc(aligned(length));
  bytes.writeUInt16LE(length, 0);
  bytes.writeUInt16LE(type, 2);
  payload.copy(bytes, ATTRIBUTE_HEADER_LENGTH);
  return bytes;
}

export const nested = (type: number, ...parts: readonly Buffer[]): Buffer =>
  attribute(type | NLA_F_NESTED, Buffer.concat(parts));

export function u8Attribute(type: number, value: number): Buffer {
  return attribute(type, Buffer.from([value]));
}

export function u32Attribute(type: number, value: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32LE(value >>> 0);
  return attribute(type, payload);
}

/** Text with its ending zero. */
export const textAttribute = (type: number, text: string): Buffer =>
  attribute(type, Buffer.from(`${text}\0`, 'utf8'));

/** A MAC address, from its colon-separated text. */
export const macAttribute = (type: number, mac: string): Buffer =>
  attribute(type, Buffer.from(mac.replaceAll(':', ''), 'hex'));

/** The message with its header. */
export function encode(message: NetlinkMessage, sequence: number): Buffer {
  const bytes = Buffer.alloc(NLMSG_HEADER_LENGTH + aligned(message.body.length));
  bytes.writeUInt32LE(NLMSG_HEADER_LENGTH + message.body.length, 0);
  bytes.writeUInt16LE(message.type, 4);
  bytes.writeUInt16LE(message.flags | NLM_F_REQUEST | NLM_F_ACK, 6);
  bytes.writeUInt32LE(sequence, 8);
  message.body.copy(bytes, NLMSG_HEADER_LENGTH);
  return bytes;
}

/** The messages of one datagram. Bodies are copies, so the buffer may be used again. */
export function decode(datagram: Buffer): readonly NetlinkAnswer[] {
  const answers: NetlinkAnswer[] = [];
  let offset = 0;
  while (offset + NLMSG_HEADER_LENGTH <= datagram.length) {
    const length = datagram.readUInt32LE(offset);
    if (length < NLMSG_HEADER_LENGTH || offset + length > datagram.length) {
      throw new Error(`malformed netlink datagram: message length ${length} at offset ${offset}`);
    }
    answers.push({
      type: datagram.readUInt16LE(offset + 4),
      flags: datagram.readUInt16LE(offset + 6),
      sequence: datagram.readUInt32LE(offset + 8),
      body: Buffer.from(datagram.subarray(offset + NLMSG_HEADER_LENGTH, offset + length)),
    });
    offset += aligned(length);
  }
  return answers;
}

/** The attributes in `bytes` from `start` on, all or those of the types `wanted`: a link has fifty, each a slice to make. */
export function attributesOf(bytes: Buffer, start = 0, wanted?: ReadonlySet<number>): Attributes {
  const attributes = new Map<number, Buffer>();
  let offset = start;
  while (offset + ATTRIBUTE_HEADER_LENGTH <= bytes.length) {
    const length = bytes.readUInt16LE(offset);
    if (length < ATTRIBUTE_HEADER_LENGTH || offset + length > bytes.length) {
      throw new Error(`malformed netlink attribute: length ${length} at offset ${offset}`);
    }
    const type = bytes.readUInt16LE(offset + 2) & NLA_TYPE_MASK;
    if (wanted === undefined || wanted.has(type))
      attributes.set(type, bytes.subarray(offset + ATTRIBUTE_HEADER_LENGTH, offset + length));
    offset += aligned(length);
  }
  return attributes;
}

export const u8Of = (attributes: Attributes, type: number): number | undefined => attributes.get(type)?.[0];

export const u32Of = (attributes: Attributes, type: number): number | undefined =>
  attributes.get(type)?.readUInt32LE(0);

export function textOf(attributes: Attributes, type: number): string | undefined {
  const payload = attributes.get(type);
  if (payload === undefined) return undefined;
  const end = payload.indexOf(0);
  return payload.toString('utf8', 0, end < 0 ? payload.length : end);
}

/** Lower-case, colon-separated; `''` for a link without an address. */
export const macOf = (attributes: Attributes, type: number): string =>
  (attributes.get(type)?.toString('hex') ?? '').replace(/..(?=.)/g, '$&:');
