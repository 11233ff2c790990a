// Values as the languages of boot documents write them.

/** A word of a POSIX shell: nothing in it is expanded. */
export const shellWord = (text: string): string =>
  /^[A-Za-z0-9_./:=@,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** A string of YAML or TOML: both take JSON's double-quoted form. */
export const quoted = (text: string): string => JSON.stringify(text);

/** `a=1,b=2`, as kubelet's --node-labels takes them. */
export const labelList = (labels: ReadonlyMap<string, string>): string =>
  [...labels].map(([key, value]) => `${key}=${value}`).join(',');

/** A block of text, each line moved in by so many spaces. */
export const indent = (text: string, spaces: number): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? line : ' '.repeat(spaces) + line))
    .join('\n');
