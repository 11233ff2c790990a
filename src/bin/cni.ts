// eniwhere-cni: the CNI plugin. Compiled into an executable by scripts/build-cni.ts.

import type { PluginHost } from '../cni/plugin-host.ts';
import { runCni } from '../cni/run-cni.ts';
import { sendByHost } from '../cni/send-by-host.ts';

declare const host: PluginHost;

const { env, stdin } = host;
const send = (request: Parameters<typeof sendByHost>[1]) => Promise.resolve(sendByHost(host, request));
void runCni({ env, stdin, send }).then(({ stdout, stderr, exitCode }) => {
  host.finish(stdout, stderr ?? '', exitCode);
});
