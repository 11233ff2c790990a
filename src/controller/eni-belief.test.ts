// Belief against describes that are stale and go back in time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttachmentId, InstanceId, VpcId } from '../domain/ids.ts';
import { addresses, eniId, ip, POD_SUBNET } from '../domain/ipam/testing.ts';
import type { Ec2Eni, EniAttachment } from '../ports/ec2.ts';
import { contentAdded, contentRemoved, attachmentWritten, BELIEF_MS, missed, sighted } from './eni-belief.ts';

const attachment: EniAttachment = {
  attachmentId: 'eni-attach-00000001' as AttachmentId,
  instanceId: 'i-00000001' as InstanceId,
  deviceIndex: 1,
  networkCardIndex: 0,
  deleteOnTermination: false,
  status: 'attached',
};

function eni(with_: Partial<Ec2Eni> = {}): Ec2Eni {
  return {
    eniId: eniId(1),
    mac: '02:00:00:00:00:01',
    subnetId: POD_SUBNET,
    vpcId: 'vpc-00000001' as VpcId,
    zone: 'a',
    status: 'available',
    description: '',
    securityGroupIds: [],
    primaryAddress: ip('10.1.0.4'),
    addresses: [],
    prefixes: [],
    ipv6Prefixes: [],
    tags: {},
    ...with_,
  };
}

const [A, B, C] = addresses(10, 3) as [ReturnType<typeof ip>, ReturnType<typeof ip>, ReturnType<typeof ip>];

test('an address that a describe no longer shows is believed until staleness cannot explain it', () => {
  const first = sighted(undefined, eni({ addresses: [A, B] }), 0);
  const stale = sighted(first, eni({ addresses: [A] }), BELIEF_MS - 1);
  assert.deepEqual(stale.eni.addresses, [A, B]);
  const late = sighted(stale, eni({ addresses: [A] }), BELIEF_MS);
  assert.deepEqual(late.eni.addresses, [A]);
});

test('an address that we assigned is believed although a describe does not show it yet', () => {
  const added = contentAdded(sighted(undefined, eni({ addresses: [A] }), 0), [C], 10);
  assert.deepEqual(sighted(added, eni({ addresses: [A] }), 20).eni.addresses, [A, C]);
});

test('an address that we unassigned stays away although a stale describe still shows it', () => {
  const removed = contentRemoved(sighted(undefined, eni({ addresses: [A, B] }), 0), [B], 10);
  assert.deepEqual(sighted(removed, eni({ addresses: [A, B] }), 20).eni.addresses, [A]);
  assert.deepEqual(sighted(removed, eni({ addresses: [A, B] }), 10 + BELIEF_MS).eni.addresses, [A, B]);
});

test('an address that we unassigned and assigned again is believed at once', () => {
  const removed = contentRemoved(sighted(undefined, eni({ addresses: [A] }), 0), [A], 10);
  const again = contentAdded(removed, [A], 20);
  assert.deepEqual(sighted(again, eni({ addresses: [A] }), 30).eni.addresses, [A]);
});

test('an attachment sticks against a describe from before it, our own or not', () => {
  const ours = attachmentWritten(sighted(undefined, eni(), 0), { ...attachment, status: 'attaching' }, 10);
  assert.equal(sighted(ours, eni(), 20).eni.attachment?.status, 'attaching');
  const seen = sighted(undefined, eni({ attachment }), 0);
  assert.equal(sighted(seen, eni(), 20).eni.attachment?.status, 'attached');
  assert.equal(
    sighted(seen, eni(), BELIEF_MS).eni.attachment,
    undefined,
    'in the end a person did detach it',
  );
});

test('attached does not fall back to attaching, nor delete-on-termination to off', () => {
  const told = attachmentWritten(
    sighted(undefined, eni({ attachment }), 0),
    { ...attachment, deleteOnTermination: true },
    10,
  );
  const stale = sighted(told, eni({ attachment: { ...attachment, status: 'attaching' } }), 20);
  assert.equal(stale.eni.attachment?.status, 'attached');
  assert.equal(stale.eni.attachment?.deleteOnTermination, true);
});

test('a detach that we asked for holds against answers from before, and ends in no attachment', () => {
  const asked = attachmentWritten(
    sighted(undefined, eni({ attachment }), 0),
    { ...attachment, status: 'detaching' },
    10,
  );
  assert.equal(sighted(asked, eni({ attachment }), 20).eni.attachment?.status, 'detaching');
  const ended = sighted(asked, eni(), 20);
  assert.equal(ended.eni.attachment, undefined);
  assert.equal(
    sighted(ended, eni({ attachment }), 30).eni.attachment,
    undefined,
    'describes go back in time',
  );
  const anew = { ...attachment, attachmentId: 'eni-attach-00000002' as AttachmentId };
  assert.deepEqual(sighted(ended, eni({ attachment: anew }), 30).eni.attachment, anew);
});

test('a deleted ENI stays deleted while describes may still show it', () => {
  const deleted = { ...sighted(undefined, eni(), 0), deletedAt: 10 };
  assert.equal(sighted(deleted, eni(), 20).deletedAt, 10);
  assert.equal(missed(deleted, 20), deleted);
  assert.equal(missed(deleted, 10 + BELIEF_MS), undefined);
});

test('an ENI that a describe misses is believed for as long as staleness can explain it', () => {
  const seen = sighted(undefined, eni(), 0);
  assert.equal(missed(seen, BELIEF_MS - 1), seen);
  assert.equal(missed(seen, BELIEF_MS), undefined);
});
