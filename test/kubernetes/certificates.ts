// Certificates and keys of a control plane that lives as long as a test.

import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Paths of PEM files. */
export interface Certificates {
  readonly authority: string;
  /** The API server's, for its address and for loopback. */
  readonly server: KeyPair;
  /** What the API server shows to kubelets. */
  readonly kubeletClient: KeyPair;
  /** Signs the tokens of service accounts. */
  readonly serviceAccountKey: string;
  readonly serviceAccountPublicKey: string;
}

export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc', '-days', '2'];

/** Makes them in the directory. `address` is where the API server is reached, beside loopback. */
export function makeCertificates(directory: string, address: string): Certificates {
  const pair = (name: string): KeyPair => ({
    certificate: join(directory, `${name}.crt`),
    key: join(directory, `${name}.key`),
  });
  const make = (name: string, subject: string, options: readonly string[]): KeyPair => {
    const { certificate, key } = pair(name);
    const files = ['-keyout', key, '-out', certificate, '-subj', subject];
    execFileSync('openssl', ['req', '-x509', ...NEW_KEY, ...files, ...options], { stdio: 'pipe' });
    return { certificate, key };
  };
  const authority = make('ca', '/CN=eniwhere-test', []);
  const signed = ['-CA', authority.certificate, '-CAkey', authority.key];
  const leaf = (usage: string): readonly string[] => [
    ...signed,
    '-addext',
    'basicConstraints=critical,CA:FALSE',
    '-addext',
    `extendedKeyUsage=${usage}`,
  ];
  const names = `subjectAltName=IP:127.0.0.1,IP:${address},DNS:localhost,DNS:kubernetes.default.svc,IP:${SERVICE_OF_THE_API}`;
  const serviceAccountKey = join(directory, 'service-accounts.key');
  const serviceAccountPublicKey = join(directory, 'service-accounts.pub');
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  writeFileSync(serviceAccountKey, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(serviceAccountPublicKey, publicKey.export({ type: 'spki', format: 'pem' }));
  return {
    authority: authority.certificate,
    server: make('server', '/CN=kube-apiserver', [...leaf('serverAuth'), '-addext', names]),
    // Kubelets ask the API server itself what its user may do, and system:masters may do everything.
    kubeletClient: make('kubelet-client', '/O=system:masters/CN=kube-apiserver', leaf('clientAuth')),
    serviceAccountKey,
    serviceAccountPublicKey,
  };
}

/** The block that Services get their addresses from, and its first address, which is the Service "kubernetes". */
export const SERVICE_BLOCK = '10.96.0.0/16';
const SERVICE_OF_THE_API = '10.96.0.1';
