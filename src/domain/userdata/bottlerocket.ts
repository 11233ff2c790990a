// Bottlerocket: settings in TOML. https://bottlerocket.dev/en/os/latest/api/settings/kubernetes/

import { chooseFunctions, chooseHere } from './choose-script.ts';
import {
  type ClusterAccess,
  limitNotes,
  smallest,
  STARTUP_TAINT,
  type UserDataAnswer,
  type UserDataRequest,
} from './request.ts';
import { quoted } from './words.ts';

export function bottlerocketDocument(
  request: UserDataRequest,
  access: ClusterAccess | undefined,
): UserDataAnswer {
  const { byAddress, bootstrapImage } = request;
  if (byAddress.length > 0 && bootstrapImage === undefined)
    return {
      kind: 'Refused',
      code: 'NoShell',
      message:
        'Bottlerocket runs no script of its user data, so a node cannot choose its ENIConfig by its address',
      fix:
        'let the controller choose: a NodeNetworkClass that matches by nodeCidrs with strategy Hash comes to the same ' +
        'answer; or give --bootstrap-image, an image with bash, curl and apiclient that runs its user data',
    };
  const least = smallest(request.maxPods);
  return {
    kind: 'Document',
    format: 'toml',
    text: `${settings(request, access, least?.maxPods ?? 0).join('\n')}\n`,
    effectiveMaxPods: least?.maxPods,
    notes: limitNotes(request.maxPods),
  };
}

export function settings(
  request: UserDataRequest,
  access: ClusterAccess | undefined,
  maxPods: number | undefined,
): readonly string[] {
  const { labels, startupTaint, byAddress, bootstrapImage } = request;
  const { key, value, effect } = STARTUP_TAINT;
  return [
    '[settings.kubernetes]',
    ...(access === undefined
      ? []
      : [
          `cluster-name = ${quoted(access.name)}`,
          `api-server = ${quoted(access.endpoint)}`,
          `cluster-certificate = ${quoted(access.certificateAuthority)}`,
        ]),
    // An integer: a string, or a table of this name, keeps the node from joining.
    ...(maxPods === undefined ? [] : [`max-pods = ${maxPods}`]),
    ...(labels.size === 0
      ? []
      : [
          '',
          '[settings.kubernetes.node-labels]',
          ...[...labels].map(([name, text]) => `${quoted(name)} = ${quoted(text)}`),
        ]),
    ...(startupTaint
      ? ['', '[settings.kubernetes.node-taints]', `${quoted(key)} = [${quoted(`${value}:${effect}`)}]`]
      : []),
    ...(byAddress.length === 0 || bootstrapImage === undefined ? [] : bootstrap(request, bootstrapImage)),
  ];
}

/** A bootstrap container runs to its end before kubelet starts; `essential` stops the boot when it fails. */
function bootstrap({ byAddress, labelKey }: UserDataRequest, image: string): readonly string[] {
  const script = [
    '#!/bin/bash',
    'set -euo pipefail',
    '',
    chooseFunctions(byAddress),
    '',
    chooseHere(),
    '',
    `apiclient set --json "{\\"kubernetes\\":{\\"node-labels\\":{\\"${labelKey}\\":\\"$eniwhere_eni_config\\"}}}"`,
    '',
  ].join('\n');
  return [
    '',
    '[settings.bootstrap-containers.eniwhere]',
    `source = ${quoted(image)}`,
    'mode = "always"',
    'essential = true',
    `user-data = ${quoted(base64(script))}`,
  ];
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** RFC 4648, section 4, of the text's UTF-8 bytes. */
function base64(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let written = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at;
    const value = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    written += ALPHABET[(value >> 18) & 63];
    written += ALPHABET[(value >> 12) & 63];
    written += left > 1 ? ALPHABET[(value >> 6) & 63] : '=';
    written += left > 2 ? ALPHABET[value & 63] : '=';
  }
  return written;
}
