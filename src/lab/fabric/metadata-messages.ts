// What the fabric and its metadata server, a process inside the router's namespace, say to each other.

import type { MetadataAnswer, MetadataRequest } from './metadata-service.ts';

export type FromServer =
  | { readonly kind: 'Listening' }
  | { readonly kind: 'CannotListen'; readonly message: string }
  | { readonly kind: 'Request'; readonly id: number; readonly request: MetadataRequest };

export type ToServer =
  | { readonly kind: 'Listen'; readonly addresses: readonly string[]; readonly port: number }
  | { readonly kind: 'Answer'; readonly id: number; readonly answer: MetadataAnswer };
