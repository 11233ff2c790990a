// Sends UDP datagrams as fast as it can for a while: `node send-datagrams-process.ts ADDRESS BYTES MS`. Prints how many it sent the processor time that it took, microseconds, and how long, milliseconds.

import koffi from 'koffi';
import { AF_INET, connectSocket, openSocket, SOCK_DGRAM } from '../../src/adapters/linux/libc.ts';
import { socketAddress } from '../../src/adapters/linux/socket-address.ts';
import type { Ip } from '../../src/domain/address/ip.ts';

/** Datagrams handed to the kernel at once, so that the cost of the call does not hide the cost of the way. */
const BATCH = 64;
/** Discard, RFC 863. */
const DISCARD_PORT = 9;
/** struct mmsghdr on 64-bit machines. */
const MMSGHDR_LENGTH = 64;
const IOV_OFFSET = 16;
const IOV_COUNT_OFFSET = 24;
const IOVEC_LENGTH = 16;

const [address = '', bytes = '', ms = ''] = process.argv.slice(2);
const sendmmsg = koffi.load(null).func('int sendmmsg(int, void *, unsigned int, int)');

const payload = Buffer.alloc(Number(bytes));
const vector = Buffer.alloc(IOVEC_LENGTH);
vector.writeBigUInt64LE(koffi.address(payload), 0);
vector.writeBigUInt64LE(BigInt(payload.length), 8);
const messages = Buffer.alloc(BATCH * MMSGHDR_LENGTH);
for (let index = 0; index < BATCH; index++) {
  messages.writeBigUInt64LE(koffi.address(vector), index * MMSGHDR_LENGTH + IOV_OFFSET);
  messages.writeBigUInt64LE(1n, index * MMSGHDR_LENGTH + IOV_COUNT_OFFSET);
}

const socket = openSocket(AF_INET, SOCK_DGRAM, 0);
connectSocket(socket, socketAddress(address as Ip, DISCARD_PORT), `connect to ${address}`);
const startedAt = performance.now();
const before = process.cpuUsage();
let sentCount = 0;
while (performance.now() - startedAt < Number(ms)) {
  const sent: unknown = sendmmsg(socket, messages, BATCH, 0);
  if (typeof sent !== 'number' || sent < 1) throw new Error(`sendmmsg: errno ${koffi.errno()}`);
  sentCount += sent;
}
const { user, system } = process.cpuUsage(before);
console.log(`${sentCount} ${user + system} ${performance.now() - startedAt}`);
