#!/usr/bin/env node
// Installed as kubectl_complete-eniwhere: what kubectl asks for the words after `kubectl eniwhere`.

process.argv.splice(2, 0, '__complete', '--kubectl', '--');
await import('./eniwhere.ts');
