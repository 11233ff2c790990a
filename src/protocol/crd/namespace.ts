// The Namespace object of Kubernetes, as far as it is read.

import { z } from 'zod';
import { ok, type Result } from '../../domain/result.ts';
import { type Meta, metaOf, objectMeta, readObject, type Unreadable } from './object.ts';

const namespaceObject = z.object({ metadata: objectMeta });

/** Reads a Namespace. */
export function readNamespace(value: unknown): Result<Meta, Unreadable> {
  const read = readObject(namespaceObject, value);
  return read.ok ? ok(metaOf(read.value.metadata)) : read;
}
