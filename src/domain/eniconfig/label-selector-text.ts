// Label selectors as people write them on one line: `zone in (internal, edge), tier!=db, !legacy`.

import { quote } from '../address/quote.ts';
import { err, ok, type Result } from '../result.ts';
import type { LabelRequirement, LabelSelector } from './label-selector.ts';

/** Requirements that one selector may have. */
const REQUIREMENT_COUNT_MAX = 32;
const KEY = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/**
 * Reads the text form of Kubernetes: `key=value`, `key==value`, `key!=value`, `key in (a, b)`, `key notin (a)`, `key`,
 * `!key`, joined by commas. At least one requirement: an empty selector would mean everything.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#list-and-watch-filtering
 */
export function parseLabelSelector(text: string): Result<LabelSelector, string> {
  const parts = splitOutsideParentheses(text);
  if (text.trim() === '') return err('the selector is empty, and would mean every ENIConfig');
  if (parts.length > REQUIREMENT_COUNT_MAX)
    return err(`the selector has more than ${REQUIREMENT_COUNT_MAX} requirements`);
  const matchExpressions: LabelRequirement[] = [];
  for (const part of parts) {
    const requirement = parseRequirement(part.trim());
    if (!requirement.ok) return requirement;
    matchExpressions.push(requirement.value);
  }
  return ok({ matchLabels: {}, matchExpressions });
}

function splitOutsideParentheses(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const character of text) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth === 0) {
      parts.push(part);
      part = '';
    } else part += character;
  }
  return [...parts, part];
}

function parseRequirement(text: string): Result<LabelRequirement, string> {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text);
  if (set !== null) {
    const values = (set[3] ?? '').split(',').map((value) => value.trim());
    return made(set[1] ?? '', set[2] === 'in' ? 'In' : 'NotIn', values);
  }
  const equality = /^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$/.exec(text);
  if (equality !== null)
    return made(equality[1] ?? '', equality[2] === '!=' ? 'NotIn' : 'In', [equality[3] ?? '']);
  const absent = /^!\s*(\S+)$/.exec(text);
  if (absent !== null) return made(absent[1] ?? '', 'DoesNotExist', []);
  return made(text, 'Exists', []);
}

function made(
  key: string,
  operator: LabelRequirement['operator'],
  values: readonly string[],
): Result<LabelRequirement, string> {
  if (!KEY.test(key))
    return err(
      `${quote(key)} is no requirement; write key=value, key in (a, b), key or !key, joined by commas`,
    );
  const wrong = values.find((value) => !VALUE.test(value));
  return wrong === undefined ? ok({ key, operator, values }) : err(`${quote(wrong)} is no value of a label`);
}
