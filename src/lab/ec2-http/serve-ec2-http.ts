// The simulated EC2 on a local port, by the EC2 query protocol: the AWS SDKs and command-line tools talk to it.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Ec2, Ec2Failure, Ec2Outcome } from '../../ports/ec2.ts';
import type { Ec2Truth } from '../ec2/ec2-truth.ts';
import type { Action, ActionContext } from './action.ts';
import type { SimEc2 } from '../ec2/sim-ec2.ts';
import { describeActions } from './describe-actions.ts';
import { parseForm } from './form.ts';
import { createLabDesk, type LabDesk } from './lab-desk.ts';
import { createPages } from './pages.ts';
import { badParameter, DRY_RUN_CODE, dryRun, unknownAction, unknownParameter } from './refusals.ts';
import { writeActions } from './write-actions.ts';
import { errorXml, responseXml, type XmlFields } from './xml.ts';

export interface Ec2HttpOptions {
  /** Whose profile also makes the faults that clients meet. */
  readonly ec2: Ec2;
  readonly truth: Ec2Truth;
  /** Also serves the lab's own channel (lab-messages.ts), by which anybody who reaches the port can change everything. */
  readonly lab?: Pick<SimEc2, 'admin' | 'truth' | 'onChange'>;
  /** Actions whose permission is taken away, for dry runs; none when absent. */
  readonly denies?: (action: string) => boolean;
  /** 127.0.0.1 when absent. Signatures are not checked, so keep it from strangers. */
  readonly host?: string;
  /** Any free one when absent or 0. */
  readonly port?: number;
  /** Pages hold at most this many items, whatever the client asks for. */
  readonly itemsPerPageMax?: number;
}

export interface Ec2HttpServer {
  /** For AWS_EC2_ENDPOINT, AWS_ENDPOINT_URL_EC2 or `--endpoint-url`. */
  readonly url: string;
  /** Breaks off what is under way. */
  close(): Promise<void>;
}

/** EC2's own limit is smaller; a describe with some filters of 200 values is 20 kB. */
const BODY_BYTES_MAX = 1_000_000;
const ITEMS_PER_PAGE_MAX = 1000;

/** Parameters of every request. */
const COMMON_PARAMETERS = new Set(['Action', 'DryRun', 'Version']);

const ACTIONS: ReadonlyMap<string, Action> = new Map(Object.entries({ ...describeActions, ...writeActions }));

const HTTP_STATUS: Readonly<Partial<Record<Ec2Failure['kind'], number>>> = {
  throttled: 503,
  unauthorized: 403,
  'server-error': 500,
};
/** Of the refusal that a dry run ends in when it would have worked. */
const DRY_RUN_STATUS = 412;

/** Resolves once the port listens. Rejects when it cannot, with Node's error. */
export async function serveEc2Http(options: Ec2HttpOptions): Promise<Ec2HttpServer> {
  const context: ActionContext = {
    ec2: options.ec2,
    truth: options.truth,
    pages: createPages(options.itemsPerPageMax ?? ITEMS_PER_PAGE_MAX),
  };
  const desk = options.lab === undefined ? undefined : createLabDesk(options.lab);
  const denies = options.denies ?? (() => false);
  let requestCount = 0;
  const server = createServer((request, response) => {
    requestCount += 1;
    // Told apart in logs, and the same in every run.
    const requestId = `00000000-0000-4000-8000-${requestCount.toString(16).padStart(12, '0')}`;
    serve({ context, desk, denies, requestId }, { request, response }).catch((error: unknown) =>
      server.emit('error', error),
    );
  });
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    close: () =>
      new Promise((resolve, reject) => {
        desk?.close();
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

const statusOf = ({ kind, code }: Ec2Failure): number =>
  code === DRY_RUN_CODE ? DRY_RUN_STATUS : (HTTP_STATUS[kind] ?? 400);

interface Counter {
  readonly context: ActionContext;
  readonly desk: LabDesk | undefined;
  readonly denies: (action: string) => boolean;
  readonly requestId: string;
}

async function serve(
  { context, desk, denies, requestId }: Counter,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> {
  const form = await formOf(request);
  // The client has gone: nobody waits for an answer.
  if (form === undefined) return;
  if (desk?.isFor(request) === true) return desk.serve(request, response, form);
  const { action, outcome } = await answer(context, form, denies);
  if (response.destroyed) return;
  switch (outcome.kind) {
    case 'ok':
      return send(response, 200, responseXml(action, requestId, outcome.value));
    case 'failed':
      return send(response, statusOf(outcome.failure), errorXml(requestId, outcome.failure));
    case 'unknown':
      // What the profile lost on the way is lost here too: the connection breaks without an answer.
      request.socket.destroy();
  }
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/xml;charset=UTF-8' }).end(body);
}

async function answer(
  context: ActionContext,
  form: string,
  denies: Counter['denies'],
): Promise<{ readonly action: string; readonly outcome: Ec2Outcome<XmlFields> }> {
  const parsed = parseForm(form);
  if (!parsed.ok) return { action: '', outcome: badParameter(parsed.error) };
  const params = parsed.value;
  const name = params.text('Action') ?? '';
  const action = ACTIONS.get(name);
  if (action === undefined) return { action: name, outcome: unknownAction(name) };
  const strange = params.names.find((one) => !COMMON_PARAMETERS.has(one) && !action.parameters.includes(one));
  // What is not simulated is refused rather than left out: a client would believe that it took effect.
  if (strange !== undefined) return { action: name, outcome: unknownParameter(strange) };
  if (params.text('DryRun') === 'true') return { action: name, outcome: dryRun(name, denies(name)) };
  return { action: name, outcome: await action.run(params, context) };
}

/** The form of a POST or of a GET's query string; undefined when the client broke off. */
async function formOf(request: IncomingMessage): Promise<string | undefined> {
  const { search } = new URL(request.url ?? '/', 'http://ec2');
  if (request.method !== 'POST') return search.slice(1);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > BODY_BYTES_MAX) {
        request.socket.destroy();
        return undefined;
      }
      chunks.push(chunk);
    }
  } catch (error) {
    if (request.destroyed) return undefined;
    throw error;
  }
  return Buffer.concat(chunks).toString('utf8');
}
