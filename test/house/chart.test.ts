// The chart's settings are those that the programs read, no more and no fewer.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseAgentSettings } from '../../src/agent/agent-settings.ts';
import { parseProcessSettings } from '../../src/controller/process-settings.ts';
import type { Environment } from '../../src/domain/settings-reader.ts';

/** Set by the chart itself, or tied to how its containers are made. */
const BY_THE_CHART =
  /^(CLUSTER_NAME|MY_\w+|KUBERNETES_SERVICE_\w+|HOST_CNI_\w+|ENIWHERE_(AGENT_SOCKET|JOURNAL|NETNS|PLUGIN_SOURCE|SERVICE_ACCOUNT_DIRECTORY))$/;

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
  return [...names].filter((name) => !BY_THE_CHART.test(name)).sort();
}

const schema = JSON.parse(readFileSync('deploy/chart/values.schema.json', 'utf8')) as {
  readonly properties: { readonly env: { readonly properties: Readonly<Record<string, object>> } };
};
const accepted = Object.keys(schema.properties.env.properties);
const helpers = readFileSync('deploy/chart/templates/_helpers.tpl', 'utf8');
const listed = (name: string): readonly string[] =>
  (new RegExp(`define "eniwhere.${name}" -}}\n([A-Z0-9_ ]+)\n`).exec(helpers)?.[1] ?? '').split(' ');

const ofController = namesRead(parseProcessSettings);
const ofAgent = namesRead(parseAgentSettings);

test('the chart takes every setting of the two programs, and none that they do not read', () => {
  assert.deepEqual(accepted.sort(), [...new Set([...ofController, ...ofAgent])].sort());
});

test('the chart sends each setting to the program that reads it', () => {
  assert.deepEqual(listed('agentVariables'), ofAgent);
  assert.deepEqual(
    listed('sharedVariables'),
    ofAgent.filter((name) => ofController.includes(name)),
  );
});
