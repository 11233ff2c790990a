// Program: `door-process.ts ADDRESS PORT` opens a listening socket in the namespace that it runs in, and hands it to the
// process that started it.

import { createServer } from 'node:net';

const [host = '', port = ''] = process.argv.slice(2);
const server = createServer({ pauseOnConnect: true });
server.listen({ host, port: Number(port) }, () => {
  process.send?.('listening', server);
});
process.once('disconnect', () => {
  process.exit();
});
