// The chart's settings are those that the programs read, no more and no fewer.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseControllerSettings } from '../../src/controller/controller-settings.ts';
import type { Environment } from '../../src/domain/settings-reader.ts';

/** Set by the chart itself, from other values than `env`. */
const BY_THE_CHART = ['CLUSTER_NAME'];

/** The variables that a parser looks at. */
function namesRead(parse: (env: Environment) => unknown): readonly string[] {
  const names = new Set<string>();
  parse(
    new Proxy<Environment>(
      {},
      {
        get: (_, name) => {
          names.add(String(name));
          return undefined;
        },
      },
    ),
  );
  return [...names].filter((name) => !BY_THE_CHART.includes(name)).sort();
}

const schema = JSON.parse(readFileSync('deploy/chart/values.schema.json', 'utf8')) as {
  readonly properties: { readonly env: { readonly properties: Readonly<Record<string, object>> } };
};
const accepted = Object.keys(schema.properties.env.properties);
const helpers = readFileSync('deploy/chart/templates/_helpers.tpl', 'utf8');
const agents = (/define "eniwhere.agentVariables" -}}\n([A-Z0-9_ ]+)\n/.exec(helpers)?.[1] ?? '').split(' ');
const shared = ['AWS_VPC_K8S_CNI_LOGLEVEL'];

test('the chart takes every setting of the controller', () => {
  const missing = namesRead(parseControllerSettings).filter((name) => !accepted.includes(name));
  assert.deepEqual(missing, []);
});

test('what the chart takes beside them is sent to the agents', () => {
  const controllers = namesRead(parseControllerSettings);
  const others = accepted.filter((name) => !controllers.includes(name) || shared.includes(name));
  assert.deepEqual(others.sort(), agents);
});
