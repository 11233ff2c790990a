// A small API server for tests: lists in pages, watches with bookmarks, writes with preconditions; and every fault that a real one shows.

import { createServer, type IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { appliedTo, withOwners } from './testing-apply.ts';
import { patchedBy } from './testing-patch.ts';
import { createRawStore, type RawChange, type RawObject, type RawStore } from './testing-object-store.ts';

export interface SeenRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string;
  readonly contentType: string;
  readonly body: unknown;
}

/** What is done with a request instead of serving it. */
export type Fault =
  | { readonly kind: 'Reset' }
  | { readonly kind: 'Stall' }
  | { readonly kind: 'Status'; readonly code: number; readonly reason?: string; readonly retryAfter?: number }
  /** The effect happens, the answer is lost. */
  | { readonly kind: 'LostAnswer' }
  | { readonly kind: 'Body'; readonly text: string };

export interface LiveWatch {
  readonly request: SeenRequest;
  /** Raw bytes to the client. */
  write(text: string | Buffer): void;
  /** In good order, as at the end of timeoutSeconds. */
  end(): void;
  /** A TCP reset. */
  reset(): void;
  /** Sends nothing any more, and keeps the connection. */
  stall(): void;
}

export interface TestApiServer {
  readonly url: string;
  readonly store: RawStore;
  readonly requests: SeenRequest[];
  /** Watches that are open now. */
  readonly watches: ReadonlySet<LiveWatch>;
  /** Asked for each request; undefined serves it. */
  fault: (request: SeenRequest) => Fault | undefined;
  /** List paths whose objects have no status subresource, as in the AWS CNI's own CRD. */
  readonly withoutStatus: Set<string>;
  close(): Promise<void>;
}

export const NODES = '/api/v1/nodes';
export const PODS = '/api/v1/pods';
export const ENI_CONFIGS = '/apis/crd.k8s.amazonaws.com/v1alpha1/eniconfigs';
export const NODE_NETWORKS = '/apis/eniwhere.io/v1alpha1/nodenetworks';
export const NODE_NETWORK_CLASSES = '/apis/eniwhere.io/v1alpha1/nodenetworkclasses';
export const NAMESPACES = '/api/v1/namespaces';
const LISTS = [NODES, PODS, ENI_CONFIGS, NODE_NETWORKS, NODE_NETWORK_CLASSES, NAMESPACES];

interface Context {
  readonly store: RawStore;
  readonly watches: Set<LiveWatch>;
  readonly withoutStatus: ReadonlySet<string>;
}

export async function startTestApiServer(): Promise<TestApiServer> {
  const store = createRawStore();
  const watches = new Set<LiveWatch>();
  const requests: SeenRequest[] = [];
  const withoutStatus = new Set<string>();
  const context: Context = { store, watches, withoutStatus };
  const server = createServer((incoming, response) => {
    void handle(incoming, response);
  });
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await readRequest(incoming);
    requests.push(request);
    const fault = api.fault(request);
    if (fault === undefined) serve(context, request, response);
    // An answer that is not bound to a connection reaches nobody.
    if (fault?.kind === 'LostAnswer') serve(context, request, new ServerResponse(incoming));
    if (fault !== undefined) fail(fault, incoming, response);
  };
  // The garbage collector: what is owned by something gone goes, too.
  store.onChange((change) => {
    if (change.type !== 'DELETED') return;
    for (const path of LISTS)
      for (const object of store.list(path))
        if (object.metadata.ownerReferences?.some(({ uid }) => uid === change.object.metadata.uid) === true)
          setTimeout(() => store.delete(path, keyOf(object)), 20);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const api: TestApiServer = {
    url: `http://127.0.0.1:${port}`,
    store,
    requests,
    watches,
    fault: () => undefined,
    withoutStatus,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return api;
}

const keyOf = ({ metadata: { name, namespace } }: RawObject): string =>
  namespace === undefined ? name : `${namespace}/${name}`;

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const url = new URL(incoming.url ?? '/', 'http://localhost');
  return {
    method: incoming.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    authorization: incoming.headers.authorization ?? '',
    contentType: incoming.headers['content-type'] ?? '',
    body: text === '' ? undefined : JSON.parse(text),
  };
}

function fail(fault: Fault, incoming: IncomingMessage, response: ServerResponse): void {
  switch (fault.kind) {
    case 'Reset':
    case 'LostAnswer':
      incoming.socket.resetAndDestroy();
      return;
    case 'Stall':
      return;
    case 'Body':
      response.writeHead(200, { 'content-type': 'application/json' }).end(fault.text);
      return;
    case 'Status': {
      const { code, reason = '', retryAfter } = fault;
      if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
      answerStatus(response, { code, reason, message: `fault ${code}` });
    }
  }
}

interface StatusAnswer {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly name?: string;
}

function answerStatus(response: ServerResponse, { code, reason, message, name }: StatusAnswer): void {
  const details = name === undefined ? {} : { details: { name } };
  answer(response, code, {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason,
    message,
    code,
    ...details,
  });
}

function answer(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function serve(context: Context, request: SeenRequest, response: ServerResponse): void {
  const list = LISTS.find((path) => request.path === path);
  if (list !== undefined && request.method === 'GET') {
    if (request.query.get('watch') === '1') serveWatch(context, list, request, response);
    else serveList(context, list, request.query, response);
    return;
  }
  const target = targetOf(request.path);
  if (target === undefined) response.writeHead(404).end('404 page not found\n');
  else serveObject(context, target, request, response);
}

interface Target {
  /** List path, in a namespace those of Events and Leases. */
  readonly path: string;
  readonly key: string;
  readonly subresource: string;
}

function targetOf(path: string): Target | undefined {
  const pod = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)$/.exec(path);
  if (pod !== null) return { path: PODS, key: `${pod[1]}/${pod[2]}`, subresource: '' };
  const inNamespace = /^(\/apis\/[^/]+\/[^/]+\/namespaces\/[^/]+\/[^/]+)(?:\/([^/]+))?$/.exec(path);
  if (inNamespace !== null) return { path: inNamespace[1] ?? '', key: inNamespace[2] ?? '', subresource: '' };
  const list = LISTS.find((one) => path === one || path.startsWith(`${one}/`));
  if (list === undefined) return undefined;
  const [key = '', subresource = ''] = path.slice(list.length + 1).split('/');
  return { path: list, key, subresource };
}

interface Body {
  readonly metadata?: { readonly name: string; readonly uid?: string };
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

function serveObject(
  { store, withoutStatus }: Context,
  { path, key, subresource }: Target,
  request: SeenRequest,
  response: ServerResponse,
): void {
  const { method, body } = request;
  const given = body as Body | undefined;
  const name = method === 'POST' ? (given?.metadata?.name ?? '') : key;
  const before = store.get(path, name);
  if (method === 'POST') {
    if (before !== undefined) {
      answerStatus(response, {
        code: 409,
        reason: 'AlreadyExists',
        message: `"${name}" already exists`,
        name,
      });
    } else {
      const after = { ...(body as RawObject), status: undefined };
      const made = withOwners(path, { after, writer: { manager: managerOf(request), operation: 'Update' } });
      answer(response, 201, store.put(path, name, made));
    }
    return;
  }
  if (before === undefined && subresource === '' && isApply(request) && given?.metadata?.uid !== undefined) {
    const message = `Operation cannot be fulfilled on "${name}": uid mismatch: the provided object specified uid ${given.metadata.uid}, and no existing object was found`;
    answerStatus(response, { code: 409, reason: 'Conflict', message, name });
    return;
  }
  if (before === undefined || (subresource === 'status' && withoutStatus.has(path))) {
    answerStatus(response, { code: 404, reason: 'NotFound', message: `"${name}" not found`, name });
    return;
  }
  const conflict = (): void =>
    answerStatus(response, { code: 409, reason: 'Conflict', message: 'the object has been modified', name });
  const { uid, resourceVersion } = before.metadata;
  if (method === 'GET') answer(response, 200, before);
  else if (method === 'DELETE') {
    const { preconditions: wanted = {} } = given ?? {};
    const isOther = (wanted.uid ?? uid) !== uid;
    if (isOther || (wanted.resourceVersion ?? resourceVersion) !== resourceVersion) conflict();
    else answer(response, 200, store.delete(path, name));
  } else {
    const after = written(path, before, { request, subresource });
    if ('conflictWith' in after) {
      const message = `Apply failed with a conflict with "${after.conflictWith}"`;
      answerStatus(response, { code: 409, reason: 'Conflict', message, name });
    } else if (after.metadata.uid !== uid || after.metadata.resourceVersion !== resourceVersion) conflict();
    else answer(response, 200, store.put(path, name, after));
  }
}

const isApply = ({ method, contentType }: SeenRequest): boolean =>
  method === 'PATCH' && contentType.startsWith('application/apply-patch+yaml');

const managerOf = ({ query }: SeenRequest): string => query.get('fieldManager') ?? 'unknown';

/** The object after a patch of either kind, with its owners. */
function written(
  path: string,
  before: RawObject,
  { request, subresource }: { readonly request: SeenRequest; readonly subresource: string },
): ReturnType<typeof appliedTo> {
  const { query, body } = request;
  const manager = managerOf(request);
  if (isApply(request)) {
    const isForced = query.get('force') === 'true';
    return appliedTo(path, before, { manager, subresource, patch: body as RawObject, isForced });
  }
  const after = patched(before, body, subresource);
  const through = subresource === '' ? {} : { subresource };
  return withOwners(path, { before, after, writer: { manager, operation: 'Update', ...through } });
}

/** Through the status subresource the status alone is written, and otherwise all but the status. */
function patched(before: RawObject, body: unknown, subresource: string): RawObject {
  const after = patchedBy(before, body) as RawObject;
  const { metadata, status } = after;
  return subresource === 'status' ? { ...before, metadata, status } : { ...after, status: before.status };
}

function isSelected(object: RawObject | undefined, query: URLSearchParams): boolean {
  if (object === undefined) return false;
  const terms = (query.get('fieldSelector') ?? '').split(',').filter((term) => term !== '');
  return terms.every((term) => {
    const [field, value] = term.split('=');
    return field === 'metadata.name'
      ? object.metadata.name === value
      : (object.spec as { readonly nodeName?: string } | undefined)?.nodeName === value;
  });
}

/** A page's token is the version and the offset; a version that is compacted is gone. */
function serveList({ store }: Context, path: string, query: URLSearchParams, response: ServerResponse): void {
  const limit = Number(query.get('limit') ?? 0);
  const [version = String(store.version()), offset = '0'] = (query.get('continue') ?? '')
    .split(':')
    .filter((part) => part !== '');
  if (Number(version) < store.compactedAt()) {
    answerStatus(response, { code: 410, reason: 'Expired', message: 'the continue token is too old' });
    return;
  }
  const all = store.list(path).filter((object) => isSelected(object, query));
  const start = Number(offset);
  const end = limit === 0 ? all.length : start + limit;
  const next = end < all.length ? { continue: `${version}:${end}` } : {};
  answer(response, 200, {
    kind: 'List',
    metadata: { resourceVersion: version, ...next },
    items: all.slice(start, end),
  });
}

function serveWatch(
  { store, watches }: Context,
  path: string,
  request: SeenRequest,
  response: ServerResponse,
): void {
  let isMuted = false;
  const since = Number(request.query.get('resourceVersion') ?? 0);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  const send = (type: string, object: unknown): void => {
    if (!isMuted) response.write(`${JSON.stringify({ type, object })}\n`);
  };
  if (since < store.compactedAt()) {
    send('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' });
    response.end();
    return;
  }
  const tell = (change: RawChange): void => {
    if (change.path !== path) return;
    const [was, is] = [isSelected(change.before, request.query), isSelected(change.object, request.query)];
    if (change.type === 'DELETED' || (was && !is)) {
      if (was) send('DELETED', change.object);
    } else if (is) send(was ? 'MODIFIED' : 'ADDED', change.object);
  };
  for (const change of store.changesSince(since)) tell(change);
  const stop = store.onChange(tell);
  const live: LiveWatch = {
    request,
    write: (text) => response.write(text),
    end: () => {
      isMuted = true;
      response.end();
    },
    reset: () => response.socket?.resetAndDestroy(),
    stall: () => {
      isMuted = true;
    },
  };
  watches.add(live);
  response.on('close', () => {
    watches.delete(live);
    stop();
  });
}
