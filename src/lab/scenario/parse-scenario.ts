// Scenario files: YAML to a checked scenario, or every mistake with its line and column.

import { type Document, isMap, isScalar, LineCounter, type Node, parseAllDocuments } from 'yaml';
import type { z } from 'zod';
import { err, ok, type Result } from '../../domain/result.ts';
import { type Scenario, scenarioSchema } from './scenario.ts';
import { checkSteps } from './step-references.ts';
import { checkWorld } from './world-references.ts';
import { eniConfigManifest } from './world-schema.ts';

/** A mistake in a scenario file. Line and column count from 1. */
export interface ScenarioMistake {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Where a value is: the number of the YAML document in the file, and the keys and positions that lead to it. */
interface Place {
  readonly document: number;
  readonly path: readonly PropertyKey[];
}

/** `FILE:LINE:COLUMN: what is wrong and what to do`, one line per mistake. */
export const showMistakes = (file: string, mistakes: readonly ScenarioMistake[]): string =>
  mistakes.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`).join('\n');

/**
 * Reads a scenario file. The first YAML document is the scenario; further documents may be ENIConfigs, or Lists of them
 * as `kubectl get eniconfigs -o yaml` prints, and count as if they stood under `eniConfigs`.
 */
export function parseScenario(text: string): Result<Scenario, readonly ScenarioMistake[]> {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, merge: true });
  if (!Array.isArray(documents) || documents.length === 0)
    return err([{ line: 1, column: 1, message: 'the file is empty; a scenario starts with name: and vpc:' }]);
  const syntax = documents.flatMap((document) =>
    document.errors.map((error) => ({ ...positionAt(lines, error.pos[0]), message: error.message })),
  );
  if (syntax.length > 0) return err(syntax);

  const at = ({ document, path }: Place): { line: number; column: number } =>
    positionAt(lines, offsetOf(documents[document], path));
  const parsed = scenarioSchema.safeParse(documents[0]?.toJS(), { reportInput: true });
  if (!parsed.success)
    return err(inFileOrder(parsed.error.issues.map((issue) => mistakeOf(issue, documents, lines))));
  const more = parseMoreManifests(documents);
  const scenario: Scenario = {
    ...parsed.data,
    eniConfigs: [...parsed.data.eniConfigs, ...more.manifests],
  };
  const mistakes = [...more.mistakes, ...checkReferences(scenario)].map(({ place, message }) => ({
    ...at(place),
    message,
  }));
  return mistakes.length === 0 ? ok(scenario) : err(inFileOrder(mistakes));
}

function checkReferences(scenario: Scenario): readonly PlacedMistake[] {
  const mistakes: PlacedMistake[] = [];
  const complain = (path: readonly PropertyKey[], message: string): void => {
    mistakes.push({ place: { document: 0, path }, message });
  };
  checkWorld(scenario, complain);
  checkSteps(scenario, complain);
  return mistakes;
}

/** Of several mistakes at one place only the first is told: the others follow from it. */
function inFileOrder(mistakes: readonly ScenarioMistake[]): readonly ScenarioMistake[] {
  const sorted = [...mistakes].sort((a, b) => a.line - b.line || a.column - b.column);
  return sorted.filter(({ line, column }, index) => {
    const before = sorted[index - 1];
    return before?.line !== line || before.column !== column;
  });
}

interface PlacedMistake {
  readonly place: Place;
  readonly message: string;
}

/** The ENIConfigs in the documents after the first. */
function parseMoreManifests(documents: readonly Document.Parsed[]): {
  readonly manifests: Scenario['eniConfigs'];
  readonly mistakes: readonly PlacedMistake[];
} {
  const manifests: Scenario['eniConfigs'] = [];
  const mistakes: PlacedMistake[] = [];
  for (const [document, parsed] of documents.entries()) {
    const object: unknown = parsed.toJS();
    if (document === 0 || object === null) continue;
    const items = listItems(object);
    for (const [position, item] of (items ?? [object]).entries()) {
      const manifest = eniConfigManifest.safeParse(item);
      const path = items === undefined ? [] : ['items', position];
      if (manifest.success) manifests.push(manifest.data);
      else mistakes.push({ place: { document, path }, message: manifest.error.issues[0]?.message ?? '' });
    }
  }
  return { manifests, mistakes };
}

function listItems(object: unknown): readonly unknown[] | undefined {
  if (typeof object !== 'object' || object === null || !('kind' in object) || !('items' in object))
    return undefined;
  return object.kind === 'List' && Array.isArray(object.items) ? object.items : undefined;
}

function mistakeOf(
  issue: z.core.$ZodIssue,
  documents: readonly Document.Parsed[],
  lines: LineCounter,
): ScenarioMistake {
  const extraKey = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const offset = offsetOf(documents[0], issue.path, extraKey);
  return { ...positionAt(lines, offset), message: describeIssue(issue) };
}

/** What zod found, in the words of the language. */
function describeIssue(issue: z.core.$ZodIssue): string {
  const name = issue.path.length === 0 ? 'the scenario' : showPath(issue.path);
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? `${name} is missing`
        : `${name} must be ${typeName(issue.expected)}, but is ${show(issue.input)}`;
    case 'invalid_value':
      return issue.input === undefined
        ? `${name} is missing; it is one of ${issue.values.join(', ')}`
        : `${name} is ${show(issue.input)}; it must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
    default:
      return `${name}: ${issue.message}`;
  }
}

const showPath = (path: readonly PropertyKey[]): string =>
  path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index > 0 ? '.' : ''}${String(key)}`))
    .join('');

const typeName = (expected: string): string =>
  ({
    array: 'a list',
    object: 'a mapping',
    record: 'a mapping',
    string: 'a text (put it in quotes)',
    int: 'a whole number',
    number: 'a number',
    boolean: 'true or false',
  })[expected] ?? expected;

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  const shownMax = 60;
  return text.length <= shownMax ? text : `${text.slice(0, shownMax)}...`;
}

function positionAt(lines: LineCounter, offset: number): { readonly line: number; readonly column: number } {
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}

/** Offset of the value at `path`, of the key `extraKey` in it, or of the nearest thing above that is there. */
function offsetOf(
  document: Document.Parsed | undefined,
  path: readonly PropertyKey[],
  extraKey?: string,
): number {
  if (document === undefined) return 0;
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true) as Node | undefined;
    const offset = node === undefined || node === null ? undefined : startOf(node, extraKey);
    if (offset !== undefined) return offset;
  }
  return (document.contents === null ? undefined : startOf(document.contents, extraKey)) ?? 0;
}

function startOf(node: Node, extraKey: string | undefined): number | undefined {
  if (extraKey !== undefined && isMap(node))
    for (const { key } of node.items)
      if (isScalar(key) && key.value === extraKey && key.range) return key.range[0];
  return node.range?.[0];
}
