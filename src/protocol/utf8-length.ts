// Lengths in bytes, where the kernel and HTTP count bytes and JavaScript does not.

/** How many bytes the text takes in UTF-8 (RFC 3629). A surrogate without its other half counts as U+FFFD would: 3. */
export function utf8Length(text: string): number {
  let length = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    length += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x1_0000 ? 3 : 4;
  }
  return length;
}
