// Writes src/domain/instance/instance-type-rows.ts from EC2's DescribeInstanceTypes, in JSON:
//   aws ec2 describe-instance-types --output json | node scripts/generate-instance-types.ts 2026-10 "SOURCE"
// Also reads the form of PyPI's moto (moto/ec2/resources/instance_types.json.gz): an object from type to InstanceTypeInfo.

import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { readInstanceLimits } from '../src/adapters/aws/read-answer.ts';
import { instanceTypeRows } from '../src/domain/instance/instance-type-text.ts';

const TARGET = 'src/domain/instance/instance-type-rows.ts';

const [asOf = '', source = ''] = process.argv.slice(2);
if (!/^\d{4}-\d{2}$/.test(asOf) || source === '') {
  console.error(
    'usage: node scripts/generate-instance-types.ts YYYY-MM "WHERE THE DATA IS FROM" < types.json',
  );
  process.exit(2);
}

const input = readFileSync(0);
const isGzip = input[0] === 0x1f && input[1] === 0x8b;
const answer: unknown = JSON.parse((isGzip ? gunzipSync(input) : input).toString('utf8'));
const listed = (answer as { readonly InstanceTypes?: readonly InstanceTypeInfo[] }).InstanceTypes;
const types = (listed ?? Object.values(answer as Record<string, InstanceTypeInfo>)).map(readInstanceLimits);

const quoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`;
writeFileSync(
  TARGET,
  `// Written by scripts/generate-instance-types.ts; not by hand. How a row reads: instance-type-text.ts.

/** Month of the data. */
export const INSTANCE_TYPES_AS_OF = ${quoted(asOf)};

/** Where the data is from. */
export const INSTANCE_TYPES_SOURCE =
  ${quoted(source)};

/** One row per family. */
export const INSTANCE_TYPE_ROWS: readonly string[] = [
${instanceTypeRows(types)
  .map((row) => `  ${quoted(row)},\n`)
  .join('')}];
`,
);
console.log(`generate-instance-types: ${types.length} types of ${asOf}`);
