// XML as EC2 writes it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorXml, responseXml } from './xml.ts';

const body = (text: string): string => text.slice(text.indexOf('\n') + 1);

test('a response has its request id, lists of items, and nothing of what is undefined', () => {
  const text = responseXml('DescribeThings', 'r-1', {
    thingSet: [
      { id: 'a', count: 2, isReal: true },
      { id: 'b', count: undefined },
    ],
    nextToken: undefined,
    empty: [],
  });
  assert.equal(
    body(text),
    '<DescribeThingsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r-1</requestId>' +
      '<thingSet><item><id>a</id><count>2</count><isReal>true</isReal></item><item><id>b</id></item></thingSet>' +
      '<empty></empty></DescribeThingsResponse>',
  );
});

test('text is escaped, and what XML cannot hold is replaced', () => {
  const text = responseXml('A', 'r', { t: `<a href="x">&'\r\n\u0000\u001F\u{1F600}` });
  assert.match(text, /<t>&lt;a href=&quot;x&quot;&gt;&amp;&apos;&#13;\n\uFFFD\uFFFD\u{1F600}<\/t>/u);
});

test('an error has the shape that clients look for', () => {
  assert.equal(
    body(errorXml('r-1', { code: 'Some.Code', message: 'a < b' })),
    '<Response><Errors><Error><Code>Some.Code</Code><Message>a &lt; b</Message></Error></Errors>' +
      '<RequestID>r-1</RequestID></Response>',
  );
});
