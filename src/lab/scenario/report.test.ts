// The report: a tick, a cross or a dash per expectation, and what a cross must say.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { colours, plain, renderEvent, type ReportLine } from './report.ts';

const line = (fields: Partial<ReportLine>): string =>
  renderEvent(
    {
      kind: 'Line',
      atMs: 0,
      line: { title: 'pods talk', verdict: 'Held', seen: 'seen as 10.0.0.5', facts: [], ...fields },
    },
    plain,
  );

suite('the report', () => {
  test('has a tick and what was seen for an expectation that held', () => {
    assert.equal(line({}), '  ✓ pods talk  seen as 10.0.0.5\n');
  });

  test('has a cross with what was expected, what was seen, and the facts around it', () => {
    const text = line({
      verdict: 'Broken',
      expected: 'a connection',
      seen: 'ETIMEDOUT after 2 s',
      facts: ['condition AgentReady=False', 'Event SubnetFull'],
    });
    assert.equal(
      text,
      '  ✗ pods talk\n      expected: a connection\n      seen:     ETIMEDOUT after 2 s\n' +
        '      condition AgentReady=False\n      Event SubnetFull\n',
    );
  });

  test('says why a line was not run', () => {
    assert.equal(
      line({ verdict: 'NotRun', seen: 'no network namespaces' }),
      '  - pods talk  not run: no network namespaces\n',
    );
  });

  test('ends with a table and the counts', () => {
    const text = renderEvent(
      {
        kind: 'Finished',
        nodes: [
          {
            node: 'n1',
            eniConfig: 'eu-west-1a',
            why: 'Zone',
            eniCount: 1,
            podCount: 3,
            usedCount: 3,
            heldCount: 9,
          },
          {
            node: 'node-2',
            eniConfig: '-',
            why: 'Annotation',
            eniCount: 0,
            podCount: 0,
            usedCount: 0,
            heldCount: 0,
          },
        ],
        counts: { Held: 2, Broken: 0, NotRun: 1 },
        tookMs: 12_340,
        virtualTime: false,
      },
      plain,
    );
    assert.equal(
      text,
      `
node    ENIConfig   why         ENIs  pods  addresses
n1      eu-west-1a  Zone        1     3     3 used of 9
node-2  -           Annotation  0     0     0 used of 0

3 expectations: 2 held, 0 broken, 1 not run; 12.3 s
`,
    );
  });

  test('is coloured only when told to', () => {
    const broken: ReportLine = { title: 't', verdict: 'Broken', seen: 's', facts: [] };
    assert.ok(renderEvent({ kind: 'Line', atMs: 0, line: broken }, colours).includes('\u001b[31m'));
    assert.ok(!renderEvent({ kind: 'Line', atMs: 0, line: broken }, plain).includes('\u001b'));
  });
});
