// Cuts TypeScript source into tokens: enough to find imports, functions and words without a compiler.

export interface Token {
  readonly kind: 'word' | 'number' | 'string' | 'template' | 'regex' | 'punctuation';
  /** As written; of a string, what stands between its quotes; of a template, one of its literal parts. */
  readonly text: string;
  /** 1-based line of the first character. */
  readonly line: number;
}

interface Scan {
  readonly source: string;
  readonly tokens: Token[];
  /** For each template that is open: how many braces are open inside its current `${`. */
  readonly templates: number[];
  at: number;
  line: number;
  /** Line on which the text taken last began. */
  startLine: number;
}

/** Words after which a slash starts a regular expression, not a division. */
const beforeExpression = new Set(
  'return typeof case do else in instanceof new of void delete throw await yield'.split(' '),
);

const blank = /\s+|\/\/[^\n]*|\/\*[^]*?\*\//y;
const stringLiteral = /'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"/y;
const word = /[A-Za-z_$#][\w$]*/y;
const number = /\d[\w.]*/y;
const regex = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
/** `=>` must stay whole; of other operators, single characters will do. */
const punctuation = /=>|\?\.|\.\.\.|[^]/y;
const templatePart = /(?:[^`\\$]|\\[^]|\$(?!\{))*/y;

export function tokenize(source: string): readonly Token[] {
  const scan: Scan = { source, tokens: [], templates: [], at: 0, line: 1, startLine: 1 };
  while (scan.at < source.length) step(scan);
  return scan.tokens;
}

function step(scan: Scan): void {
  if (take(scan, blank) !== undefined) return;
  const text = take(scan, stringLiteral);
  if (text !== undefined) push(scan, 'string', text.slice(1, -1));
  else if (scan.source[scan.at] === '`') takeTemplatePart(scan);
  else if (!(takeAs(scan, 'word', word) || takeAs(scan, 'number', number))) {
    if (!(regexMayFollow(scan.tokens.at(-1)) && takeAs(scan, 'regex', regex))) takePunctuation(scan);
  }
}

function regexMayFollow(last: Token | undefined): boolean {
  if (last === undefined) return true;
  if (last.kind === 'word') return beforeExpression.has(last.text);
  return last.kind === 'punctuation' && ![')', ']', '}'].includes(last.text);
}

/** From a backtick, or from the brace that ends a `${...}`, to the end of the literal part behind it. */
function takeTemplatePart(scan: Scan): void {
  scan.at += 1;
  push(scan, 'template', take(scan, templatePart) ?? '');
  if (scan.source[scan.at] === '`') {
    scan.at += 1;
    return;
  }
  scan.at += 2;
  scan.templates.push(0);
}

function takePunctuation(scan: Scan): void {
  const open = scan.templates.at(-1);
  const character = scan.source[scan.at];
  if (open === 0 && character === '}') {
    scan.templates.pop();
    takeTemplatePart(scan);
    return;
  }
  if (open !== undefined && character === '{') scan.templates[scan.templates.length - 1] = open + 1;
  if (open !== undefined && character === '}') scan.templates[scan.templates.length - 1] = open - 1;
  takeAs(scan, 'punctuation', punctuation);
}

function takeAs(scan: Scan, kind: Token['kind'], pattern: RegExp): boolean {
  const text = take(scan, pattern);
  if (text !== undefined) push(scan, kind, text);
  return text !== undefined;
}

function take(scan: Scan, pattern: RegExp): string | undefined {
  pattern.lastIndex = scan.at;
  const text = pattern.exec(scan.source)?.[0] ?? '';
  scan.at += text.length;
  scan.startLine = scan.line;
  scan.line += text.split('\n').length - 1;
  return text === '' ? undefined : text;
}

function push(scan: Scan, kind: Token['kind'], text: string): void {
  scan.tokens.push({ kind, text, line: scan.startLine });
}
