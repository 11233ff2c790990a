// Selection over every mix of labels, annotations, ENIConfigs and outages: precedence, and failing closed.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { NodeName } from '../ids.ts';
import type { EniConfigView } from './eni-config.ts';
import { selectEniConfig } from './select-eni-config.ts';
import type { SelectionSource } from './selection.ts';
import { DEFAULT_ENI_CONFIG_KEY, EXTERNAL_ENI_CONFIG_LABEL, type SelectionInput } from './selection-input.ts';
import { node, selectionInput, valid } from './testing.ts';

const SEED = 20_261;
const RUNS = { seed: SEED, numRuns: 2000 };
const NAMES = ['us-west-2a', 'us-west-2b', 'default', 'pods', 'ghost', ''] as const;
const ZONES = ['us-west-2a', 'us-west-2b'] as const;

/** What is written in the three places, in order of precedence; undefined where nothing is. */
interface World {
  readonly written: readonly (string | undefined)[];
  readonly views: readonly EniConfigView[];
  readonly zone: string;
  readonly eniConfigsUnreadable: boolean;
  readonly nodeUnreadable: boolean;
  readonly customNetworking: boolean;
}

const view = (name: string): fc.Arbitrary<EniConfigView> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ zone: fc.constantFrom(...ZONES) }).map(({ zone }) => valid({ name, zone })),
    },
    { weight: 1, arbitrary: fc.constant(valid({ name, vpc: 'vpc-0000000b' })) },
    {
      weight: 1,
      arbitrary: fc.constant<EniConfigView>({ kind: 'Invalid', name, labels: {}, message: 'm', fix: 'f' }),
    },
    {
      weight: 1,
      arbitrary: fc.constant<EniConfigView>({ kind: 'Unresolved', name, labels: {}, message: 'm' }),
    },
  );

const written = fc.option(fc.constantFrom(...NAMES), { nil: undefined, freq: 2 });

const world: fc.Arbitrary<World> = fc.record({
  written: fc.tuple(written, written, written),
  views: fc
    .subarray(['us-west-2a', 'us-west-2b', 'default', 'pods'])
    .chain((names) => fc.tuple(...names.map(view))),
  zone: fc.constantFrom(...ZONES),
  eniConfigsUnreadable: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  nodeUnreadable: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
  customNetworking: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
});

function inputOf(world: World): SelectionInput {
  const [external, annotation, label] = world.written;
  const selected = node({
    zone: world.zone,
    labels: {
      ...(external === undefined ? {} : { [EXTERNAL_ENI_CONFIG_LABEL]: external }),
      ...(label === undefined ? {} : { [DEFAULT_ENI_CONFIG_KEY]: label }),
    },
    annotations: annotation === undefined ? {} : { [DEFAULT_ENI_CONFIG_KEY]: annotation },
  });
  const input = selectionInput(selected, world.views, { customNetworking: world.customNetworking });
  return {
    ...input,
    ...(world.eniConfigsUnreadable && { eniConfigs: { kind: 'Unreadable' as const, cause: 'away' } }),
    ...(world.nodeUnreadable && {
      node: { kind: 'Unreadable' as const, name: 'n1' as NodeName, cause: 'away' },
    }),
  };
}

/** The name that must decide, told from the world alone: the first written one, else zone, else default. */
function decidingName(world: World): { readonly name: string | undefined; readonly source: SelectionSource } {
  const sources = ['ExternalLabel', 'Annotation', 'Label'] as const;
  for (const [index, source] of sources.entries()) {
    const name = world.written[index];
    if (name !== undefined) return { name, source };
  }
  const exists = (name: string): boolean =>
    world.views.some((one) => (one.kind === 'Valid' ? one.eniConfig.name : one.name) === name);
  if (exists(world.zone)) return { name: world.zone, source: 'Zone' };
  return exists('default') ? { name: 'default', source: 'Default' } : { name: undefined, source: 'Nothing' };
}

const isUsable = (one: EniConfigView, name: string | undefined, zone: string): boolean =>
  one.kind === 'Valid' &&
  one.eniConfig.name === name &&
  one.subnet.zone === zone &&
  one.subnet.vpcId === 'vpc-0000000a';

describe('selection, whatever the world', () => {
  it('[SEL-1] [SEL-2] [SEL-5] chooses exactly when the deciding name can be used, and then that one', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        fc.pre(drawn.customNetworking);
        const { selection } = selectEniConfig(inputOf(drawn));
        const { name, source } = decidingName(drawn);
        const readable = !drawn.nodeUnreadable && !drawn.eniConfigsUnreadable;
        const usable = readable && drawn.views.some((one) => isUsable(one, name, drawn.zone));
        assert.equal(selection.kind, usable ? 'EniConfig' : 'None');
        if (selection.kind === 'EniConfig')
          assert.deepEqual([selection.name, selection.source], [name, source]);
        if (readable) assert.equal(selection.source, source);
      }),
      RUNS,
    );
  });

  it('[SEL-1] never gives a subnet for a written name that is wrong, whatever other ENIConfigs exist', () => {
    fc.assert(
      fc.property(
        world,
        fc.constantFrom('ghost', '', '  ', 'Default'),
        fc.nat({ max: 2 }),
        (drawn, wrong, place) => {
          fc.pre(drawn.customNetworking);
          const names = drawn.written.map((name, index) =>
            index < place ? undefined : index === place ? wrong : name,
          );
          const { selection } = selectEniConfig(inputOf({ ...drawn, written: names }));
          assert.equal(selection.kind, 'None');
          assert.ok(!('subnetId' in selection));
        },
      ),
      RUNS,
    );
  });

  it('[SEL-6] gives the node its own subnet exactly when custom networking is off and the node is readable', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const { selection } = selectEniConfig(inputOf(drawn));
        assert.equal(selection.kind === 'NodeSubnet', !drawn.customNetworking && !drawn.nodeUnreadable);
      }),
      RUNS,
    );
  });

  it('[SEL-9] has a reason, and a trace whose last rule alone matched', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const { selection, tried } = selectEniConfig(inputOf(drawn));
        assert.notEqual(selection.reason, '');
        if (selection.kind === 'None') assert.ok(selection.message !== '' && selection.fix !== '');
        assert.deepEqual(
          tried.map(({ matched }) => matched),
          tried.map((_, index) => index === tried.length - 1),
        );
        assert.equal(new Set(tried.map(({ rule }) => rule)).size, tried.length);
        assert.ok(tried.every(({ detail }) => detail !== ''));
      }),
      RUNS,
    );
  });

  it('does not depend on the order of the ENIConfigs', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const reversed = { ...drawn, views: [...drawn.views].reverse() };
        assert.deepEqual(selectEniConfig(inputOf(reversed)), selectEniConfig(inputOf(drawn)));
      }),
      RUNS,
    );
  });
});
