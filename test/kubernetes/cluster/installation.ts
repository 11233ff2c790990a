// What the tests' readers of the documentation have in their own files.

import { PODS_GROUP } from './cloud.ts';
import type { Cluster } from './cluster.ts';
import { PRODUCT_IMAGE } from './product-image.ts';

/** my-values.yaml: this machine's image, and the simulated EC2 in the place of AWS's. Another `version` replaces all pods. */
export const chartValues = (cluster: Cluster, version = '1'): object => ({
  clusterName: 'e2e',
  region: 'eu-test-1',
  image: { ...PRODUCT_IMAGE, pullPolicy: 'Never' },
  env: { AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'true', WARM_IP_TARGET: '2' },
  agent: { podAnnotations: { version } },
  controller: {
    podAnnotations: { version },
    extraEnv: [
      { name: 'AWS_ENDPOINT_URL_EC2', value: cluster.cloud.ec2Endpoint },
      { name: 'AWS_ACCESS_KEY_ID', value: 'test' },
      { name: 'AWS_SECRET_ACCESS_KEY', value: 'test' },
    ],
  },
});

export const eniConfig = (name: string, subnet: string): object => ({
  apiVersion: 'crd.k8s.amazonaws.com/v1alpha1',
  kind: 'ENIConfig',
  metadata: { name },
  spec: { subnet, securityGroups: [PODS_GROUP] },
});
