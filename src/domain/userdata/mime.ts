// MIME multi-part documents as cloud-init and nodeadm read them from user data.

export interface MimePart {
  readonly contentType: 'text/x-shellscript; charset="us-ascii"' | 'application/node.eks.aws';
  /** Without a trailing newline. */
  readonly body: string;
}

/** Not a line of any part: parts are scripts and YAML that this program writes. */
const BOUNDARY = '==eniwhere==';

/** RFC 2046, section 5.1: parts between boundary lines, the last one closed by two dashes. */
export function mimeDocument(parts: readonly MimePart[]): string {
  return [
    'MIME-Version: 1.0',
    `Content-Type: multipart/mixed; boundary="${BOUNDARY}"`,
    '',
    ...parts.flatMap(({ contentType, body }) => [
      `--${BOUNDARY}`,
      `Content-Type: ${contentType}`,
      '',
      body,
      '',
    ]),
    `--${BOUNDARY}--`,
    '',
  ].join('\n');
}

export const shellPart = (body: string): MimePart => ({
  contentType: 'text/x-shellscript; charset="us-ascii"',
  body,
});

export const nodeConfigPart = (body: string): MimePart => ({ contentType: 'application/node.eks.aws', body });
