// The netlink wire format: round trips, and the bytes that ip(8) itself sends.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { addHostAddress } from './address.ts';
import {
  attribute,
  attributesOf,
  decode,
  encode,
  macAttribute,
  macOf,
  nested,
  textAttribute,
  textOf,
  u32Attribute,
  u32Of,
} from './netlink-message.ts';
import type { Ip } from '../../domain/address/ip.ts';

const SEED = 20_260_101;

describe('attributes', () => {
  test('what is written is read, whatever its length', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 0x3fff }), fc.uint8Array({ maxLength: 40 })), {
          selector: ([type]) => type,
          maxLength: 8,
        }),
        (pairs) => {
          const bytes = Buffer.concat(pairs.map(([type, payload]) => attribute(type, Buffer.from(payload))));
          assert.equal(bytes.length % 4, 0);
          const read = attributesOf(bytes);
          assert.deepEqual(
            [...read].map(([type, payload]) => [type, [...payload]]),
            pairs.map(([type, payload]) => [type, [...payload]]),
          );
        },
      ),
      { seed: SEED },
    );
  });

  test('numbers, texts, MACs and nested attributes keep their values', () => {
    const outer = attributesOf(
      nested(7, u32Attribute(1, 0xffff_ffff), textAttribute(2, 'eth0'), macAttribute(3, '02:00:0a:ff:00:01')),
    );
    const inner = attributesOf(outer.get(7) ?? Buffer.alloc(0));
    assert.equal(u32Of(inner, 1), 0xffff_ffff);
    assert.equal(textOf(inner, 2), 'eth0');
    assert.equal(macOf(inner, 3), '02:00:0a:ff:00:01');
    assert.equal(u32Of(inner, 4), undefined);
  });

  const malformed = [
    { title: 'a length below the header', hex: '03000100' },
    { title: 'a length beyond the end', hex: '0900010000000000' },
  ];
  for (const { title, hex } of malformed) {
    test(`refused: ${title}`, () => {
      assert.throws(() => attributesOf(Buffer.from(hex, 'hex')), /malformed netlink attribute/);
    });
  }
});

describe('messages', () => {
  test('a datagram of several messages is taken apart', () => {
    const messages = [1, 2, 3].map((sequence) =>
      encode({ step: 'test', type: 16 + sequence, flags: 0x400, body: Buffer.alloc(sequence) }, sequence),
    );
    assert.deepEqual(
      decode(Buffer.concat(messages)).map(({ type, sequence, body }) => [type, sequence, body.length]),
      [
        [17, 1, 1],
        [18, 2, 2],
        [19, 3, 3],
      ],
    );
  });

  test('refused: a message that is longer than its datagram', () => {
    const bytes = encode({ step: 'test', type: 16, flags: 0, body: Buffer.alloc(8) }, 1);
    assert.throws(() => decode(bytes.subarray(0, 20)), /malformed netlink datagram/);
  });

  test('an address is added with the attributes that `ip addr add 10.1.0.5/32 dev LINK` sends', () => {
    const message = encode(addHostAddress(3, 'eth0', '10.1.0.5' as Ip), 9);
    // nlmsghdr (type 20, REQUEST ACK EXCL CREATE), ifaddrmsg (IPv4, /32, index 3), IFA_LOCAL, IFA_ADDRESS, IFA_FLAGS.
    assert.equal(
      message.toString('hex'),
      '30000000140005060900000000000000' +
        '0220000003000000' +
        '080002000a010005' +
        '080001000a010005' +
        '0800080000000000',
    );
  });
});
