// Instance metadata: who asks, what is there, and how it is read.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ip } from '../../domain/address/testing.ts';
import { seededRandom } from '../kernel/seeded-random.ts';
import { createMetadataService, type MetadataAnswer, type MetadataRequest } from './metadata-service.ts';
import { instanceSending, metadataOf, readMetadata } from './metadata.ts';
import { NODE, SECONDARY, VIEW } from './testing.ts';

const INSTANCE = VIEW.instances[0]!;

describe('the instance that sends from an address', () => {
  const cases = [
    { title: 'its primary address', source: '10.1.0.10', sender: NODE },
    { title: "a secondary ENI's own address", source: '10.1.8.4', sender: NODE },
    { title: 'a secondary address', source: '10.1.8.5', sender: NODE },
    { title: 'an address of a prefix', source: '10.1.8.47', sender: NODE },
    { title: 'an address that nobody holds', source: '10.1.8.48', sender: undefined },
  ];
  for (const { title, source, sender } of cases) {
    test(title, () => assert.equal(instanceSending(VIEW, ip(source))?.instanceId, sender));
  }
  test('an ENI that is attached to nothing sends for nobody', () => {
    const { attachment: _, ...loose } = SECONDARY;
    assert.equal(instanceSending({ ...VIEW, enis: [loose] }, ip('10.1.8.5')), undefined);
  });
});

describe('what can be read', () => {
  const metadata = metadataOf(VIEW, INSTANCE);
  const eth1 = 'network/interfaces/macs/02:00:00:00:00:01';
  const cases: readonly (readonly [path: string, value: string | undefined])[] = [
    ['instance-id', NODE],
    ['instance-type', 'm5.large'],
    ['mac', '02:00:00:00:00:00'],
    ['local-ipv4', '10.1.0.10'],
    ['placement/availability-zone', 'eu-test-1a'],
    ['placement/region', 'eu-test-1'],
    [`${eth1}/device-number`, '1'],
    [`${eth1}/interface-id`, 'eni-11111111'],
    [`${eth1}/local-ipv4s`, '10.1.8.4\n10.1.8.5'],
    [`${eth1}/ipv4-prefix`, '10.1.8.32/28'],
    [`${eth1}/security-group-ids`, 'sg-11111111\nsg-00000000'],
    [`${eth1}/subnet-id`, 'subnet-11111111'],
    [`${eth1}/subnet-ipv4-cidr-block`, '10.1.8.0/24'],
    [`${eth1}/vpc-id`, 'vpc-00000000'],
    [`${eth1}/vpc-ipv4-cidr-blocks`, '10.1.0.0/16'],
    ['', 'instance-id\ninstance-type\nlocal-ipv4\nmac\nnetwork/\nplacement/'],
    ['placement', 'availability-zone\nregion'],
    ['placement/', 'availability-zone\nregion'],
    ['network/interfaces/macs/', '02:00:00:00:00:00/\n02:00:00:00:00:01/'],
    ['place', undefined],
    ['instance-id/', undefined],
    ['network/interfaces/macs/02:00:00:00:00:00/ipv4-prefix', undefined],
  ];
  for (const [path, value] of cases) {
    test(`"${path}" is ${value === undefined ? 'not there' : JSON.stringify(value)}`, () => {
      assert.equal(readMetadata(metadata, path), value);
    });
  }
});

describe('the service', () => {
  let now = 0;
  const clock = {
    now: () => now,
    bootNow: () => now,
    timer: () => assert.fail('waits'),
    sleep: () => assert.fail('waits'),
  };
  const service = createMetadataService({
    truth: { read: () => VIEW, onChange: () => ({ close: () => {} }) },
    clock,
    random: seededRandom(1),
  });
  const ask = (path: string, over: Partial<MetadataRequest> = {}): MetadataAnswer =>
    service({ source: ip('10.1.0.10'), method: 'GET', path, isForwarded: false, ...over });
  const tokenFor = (tokenTtlSeconds: string): MetadataAnswer =>
    ask('/latest/api/token', { method: 'PUT', tokenTtlSeconds });

  const cases: readonly { title: string; answer: () => MetadataAnswer; status: number }[] = [
    { title: 'a read without a token', answer: () => ask('/latest/meta-data/mac'), status: 200 },
    { title: 'the list, with a slash or without', answer: () => ask('/latest/meta-data'), status: 200 },
    { title: 'a path of no category', answer: () => ask('/latest/user-data'), status: 404 },
    { title: 'a path that only begins alike', answer: () => ask('/latest/meta-database'), status: 404 },
    { title: 'a write', answer: () => ask('/latest/meta-data/mac', { method: 'POST' }), status: 405 },
    { title: 'a sender that is nobody', answer: () => ask('/', { source: ip('10.9.9.9') }), status: 404 },
    { title: 'a token that was not given', answer: () => ask('/', { token: 'x' }), status: 401 },
    { title: 'a token asked for with GET', answer: () => ask('/latest/api/token'), status: 405 },
    { title: 'a token for no time', answer: () => tokenFor('0'), status: 400 },
    { title: 'a token for too long', answer: () => tokenFor('21601'), status: 400 },
    { title: 'a token for a word', answer: () => tokenFor('long'), status: 400 },
    { title: 'a token for six hours', answer: () => tokenFor('21600'), status: 200 },
    {
      title: 'a token through a proxy',
      answer: () => ask('/latest/api/token', { method: 'PUT', tokenTtlSeconds: '60', isForwarded: true }),
      status: 403,
    },
  ];
  for (const { title, answer, status } of cases) {
    test(`${title}: ${status}`, () => assert.equal(answer().status, status));
  }

  test('a token serves until its time is over', () => {
    const { body: token } = tokenFor('60');
    now += 59_999;
    assert.equal(ask('/latest/meta-data/mac', { token }).status, 200);
    now += 1;
    assert.equal(ask('/latest/meta-data/mac', { token }).status, 401);
  });
});
