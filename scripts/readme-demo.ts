// Runs the demo and puts what it prints into README.md, between the two `demo-output` comments.

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

const START = '<!-- demo-output -->';
const END = '<!-- /demo-output -->';

const demo = spawnSync(process.execPath, ['src/bin/eniwhere.ts', 'lab', 'run', 'scenarios/demo.yaml'], {
  encoding: 'utf8',
  env: { ...process.env, NO_COLOR: '1' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
if (demo.error) throw demo.error;

const output = stripVTControlCharacters(demo.stdout)
  .replace(/[ \t]+$/gm, '')
  .trimEnd();
const readme = readFileSync('README.md', 'utf8');
const [start, end] = [readme.indexOf(START), readme.indexOf(END)];
if (demo.status !== 0) {
  console.error(output);
  console.error('readme-demo: the demo failed; README.md is as it was');
  process.exitCode = 1;
} else if (start < 0 || end < start) {
  console.error(`readme-demo: README.md lacks ${START} or ${END}`);
  process.exitCode = 1;
} else {
  const block = `${START}\n\n\`\`\`\n${output}\n\`\`\`\n\n`;
  writeFileSync('README.md', readme.slice(0, start) + block + readme.slice(end));
  console.log(`readme-demo: ${output.split('\n').length} lines`);
}
