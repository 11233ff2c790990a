// The simulated EC2 against moto, an EC2 by others: the same calls through the SDK, the same answers but for known differences.

import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { after, before, describe, test } from 'node:test';
import { createWireWorld } from './aws-support.ts';
import { type Answers, type Sequence, sequences } from './call-sequences.ts';
import { knownDifferences } from './known-differences.ts';
import { createMotoAccount } from './moto-account.ts';
import { hasPython, type MotoServer, startMoto } from './moto-server.ts';

async function simulated(sequence: Sequence): Promise<Answers> {
  const answers: Answers = new Map();
  const world = await createWireWorld();
  await world.run(() => sequence.run(world, answers));
  return answers;
}

async function byMoto(sequence: Sequence, url: string): Promise<Answers> {
  const answers: Answers = new Map();
  await sequence.run(await createMotoAccount(url), answers);
  return answers;
}

/** The difference as the table has it, so that one that has gone, or has changed, fails too. */
function expected(sequence: Sequence, answers: Answers): unknown {
  return Object.fromEntries(
    [...answers].map(([step, simulated]) => {
      const known = knownDifferences.find((one) => one.sequence === sequence.title && one.step === step);
      return [step, known === undefined ? simulated : { simulated: known.simulated, moto: known.moto }];
    }),
  );
}

const both = (sequence: Sequence, answers: Answers, moto: Answers): unknown =>
  Object.fromEntries(
    [...answers].map(([step, simulated]) => {
      const known = knownDifferences.some((one) => one.sequence === sequence.title && one.step === step);
      return [step, known ? { simulated, moto: moto.get(step) } : moto.get(step)];
    }),
  );

const skip = hasPython() ? false : 'needs python3, to install moto from PyPI';

/** moto draws each address by itself, so once in a hundred times an ENI gets one of them twice; a true difference stays. */
const MOTO_TRIES = 3;

describe('simulated EC2 and moto', { skip }, () => {
  let moto: MotoServer;

  before(async () => {
    moto = await startMoto();
  });
  after(() => moto.stop());

  for (const sequence of sequences) {
    test(`${sequence.title}: the same answers, but for what is in the table`, async () => {
      const answers = await simulated(sequence);
      const wanted = expected(sequence, answers);
      const compared = async (): Promise<unknown> =>
        both(sequence, answers, await byMoto(sequence, moto.url));
      let found = await compared();
      for (let again = 1; again < MOTO_TRIES && !isDeepStrictEqual(found, wanted); again += 1)
        found = await compared();
      assert.deepEqual(found, wanted);
      const rows = knownDifferences.filter((one) => one.sequence === sequence.title);
      assert.deepEqual(
        rows.map((one) => one.step).filter((step) => !answers.has(step)),
        [],
        'rows of the table that belong to no step',
      );
    });
  }
});

test('every known difference belongs to a sequence', () => {
  const titles = sequences.map((one) => one.title);
  assert.deepEqual(
    knownDifferences.filter((one) => !titles.includes(one.sequence)),
    [],
  );
});
