// What the tests of scenario files share: a small world, and what is told of a text.

import assert from 'node:assert/strict';
import { parseScenario, showMistakes } from './parse-scenario.ts';

export const SMALL_WORLD: string = `name: small
vpc:
  id: vpc-0123456789abcdef0
  cidr: 10.0.0.0/16
  subnets:
    - { id: subnet-00000000000000001, name: nodes-a, zone: eu-west-1a, cidr: 10.0.0.0/24 }
    - { id: subnet-00000000000000002, name: pods-a, zone: eu-west-1a, cidr: 10.0.16.0/20 }
  securityGroups:
    - id: sg-00000000000000001
      name: nodes
      ingress:
        - { protocol: tcp, port: 8000-8080, peer: 10.0.0.0/16 }
        - { protocol: all, peer: nodes }
settings: { WARM_ENI_TARGET: 1, AWS_VPC_K8S_CNI_EXTERNALSNAT: true }
eniConfigs:
  - apiVersion: crd.k8s.amazonaws.com/v1alpha1
    kind: ENIConfig
    metadata: { name: eu-west-1a }
    spec: { subnet: subnet-00000000000000002, securityGroups: [sg-00000000000000001] }
nodes:
  - { name: n1, type: m5.large, subnet: nodes-a, securityGroups: [nodes] }
  - { name: n2, type: m5.large, subnet: nodes-a, securityGroups: [nodes], launch: ByStep }
`;

/** Every mistake of a text that must be refused, as people see it. */
export function mistakesOf(text: string): string {
  const parsed = parseScenario(text);
  assert.ok(!parsed.ok, 'the file must be refused');
  return showMistakes('x.yaml', parsed.error);
}
