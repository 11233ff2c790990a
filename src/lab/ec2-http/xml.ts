// XML as EC2 writes it: elements without attributes, lists of <item>.

/** A list becomes one `<item>` per element; what is undefined is left out. */
export type Xml = string | number | boolean | undefined | readonly Xml[] | XmlFields;
export interface XmlFields {
  readonly [tag: string]: Xml;
}

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n';
const NAMESPACE = 'http://ec2.amazonaws.com/doc/2016-11-15/';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Control characters that XML 1.0 cannot hold in any form become the replacement character. */
const escaped = (text: string): string =>
  text
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
    // oxlint-disable-next-line no-control-regex -- these are what must not get through
    .replace(/[\u0000-\u0008\u000B\u000C\u000E-\u001F]/g, '\uFFFD')
    .replaceAll('\r', '&#13;');

function content(xml: Xml): string {
  if (xml === undefined) return '';
  if (Array.isArray(xml)) return xml.map((item: Xml) => element('item', item)).join('');
  if (typeof xml !== 'object') return escaped(String(xml));
  return Object.entries(xml)
    .map(([tag, value]: [string, Xml]) => (value === undefined ? '' : element(tag, value)))
    .join('');
}

const element = (tag: string, xml: Xml): string => `<${tag}>${content(xml)}</${tag}>`;

/** `<ActionResponse>` with the request's id first. */
export const responseXml = (action: string, requestId: string, fields: XmlFields): string =>
  `${HEAD}<${action}Response xmlns="${NAMESPACE}">${content({ requestId, ...fields })}</${action}Response>`;

/** EC2's own shape of an error, with `RequestID` in capitals as EC2 has it. */
export const errorXml = (
  requestId: string,
  error: { readonly code: string; readonly message: string },
): string => {
  const errors = { Error: { Code: error.code, Message: error.message } };
  return HEAD + element('Response', { Errors: errors, RequestID: requestId });
};
