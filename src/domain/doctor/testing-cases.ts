// One case for each check of the cluster, its networks and its credentials.

import { nthAddress } from '../address/cidr.ts';
import { cidr } from '../address/testing.ts';
import {
  eniConfig,
  network,
  node,
  NODE_SUBNET,
  picture,
  pod,
  POD_SUBNET,
  subnet,
} from '../explain/testing.ts';
import { anyLabels } from '../eniconfig/label-selector.ts';
import type { NodeNetworkClass } from '../eniconfig/node-network-class.ts';
import type { SubnetId } from '../ids.ts';
import { type Case, permitted } from './testing.ts';

const serving = network();
const external = network({ settings: { ...serving.spec.settings, externalSnat: true } });

/** Matches no node, so that no selection hangs on it. */
const dual: NodeNetworkClass = {
  name: 'dual',
  priority: 0,
  match: { nodeSelector: anyLabels, zones: ['elsewhere'] },
  candidates: { kind: 'Names', names: ['eu-west-1a'] },
  strategy: 'First',
  fallback: 'None',
  overrides: { addressFamilies: ['IPv4', 'IPv6'] },
};

export const clusterCases: readonly Case[] = [
  {
    title: 'no node has a NodeNetwork: nothing is installed',
    check: 'published',
    severity: 'error',
    picture: { networks: [], pods: [] },
    says: /1 of 1 nodes have no NodeNetwork: n1/,
  },
  {
    title: 'an ENIConfig whose subnet does not exist',
    check: 'eniconfigs',
    severity: 'error',
    picture: {
      eniConfigs: [eniConfig(), eniConfig({ name: 'other', subnetId: 'subnet-0000000f' as SubnetId })],
    },
    says: /"other": spec\.subnet subnet-0000000f does not exist/,
  },
  {
    title: 'U48 nodes in a zone without a subnet for pods',
    check: 'zones',
    severity: 'error',
    picture: { subnets: [subnet({ zone: 'eu-west-1b' })] },
    says: /NoPodSubnetInZone: no usable ENIConfig has its subnet in zone eu-west-1a, where n1 run/,
  },
  {
    title: 'U46 a node that names an ENIConfig which is not there',
    check: 'selection',
    severity: 'error',
    picture: { nodes: [node({ annotations: { 'k8s.amazonaws.com/eniConfig': 'nowhere' } })] },
    says: /names "nowhere", but no ENIConfig has that name/,
  },
  {
    title: 'a class gives pods IPv6, and the subnet of its ENIConfig has none',
    check: 'families',
    severity: 'error',
    picture: {
      classes: [{ name: 'dual', spec: { kind: 'Parsed', nodeNetworkClass: dual } }],
    },
    says: /NodeNetworkClass "dual" wants IPv6 of ENIConfig "[^"]+", whose subnet subnet-\w+ has no IPv6 block/,
  },
  {
    title: 'U46 the label that selection goes by is not on a node',
    check: 'labels',
    severity: 'warning',
    picture: {
      settings: {
        ...picture().settings,
        selection: {
          customNetworking: true,
          annotationKey: 'k8s.amazonaws.com/eniConfig',
          labelKey: 'topology.kubernetes.io/zone',
        },
      },
    },
    says: /1 nodes have no label topology\.kubernetes\.io\/zone/,
  },
  {
    title: 'an agent that does not serve',
    check: 'agents',
    severity: 'error',
    picture: { networks: [{ ...serving, status: { ...serving.status, conditions: [] } }] },
    says: /the agent of node n1 does not serve: it has never reported/,
  },
  {
    title: 'U14 a right that the controller lacks, which no pod waits for yet',
    check: 'refusals',
    severity: 'error',
    picture: {
      networks: [
        {
          ...serving,
          status: {
            ...serving.status,
            conditions: [
              ...serving.status.conditions,
              {
                type: 'AddressesAvailable',
                status: 'False',
                reason: 'Unauthorized',
                message:
                  'the controller may not create a network interface for instance i-00000001: UnauthorizedOperation; allow ec2:CreateNetworkInterface in the policy',
                lastTransitionAt: 0,
              },
            ],
          },
        },
      ],
    },
    says: /may not create a network interface for instance INSTANCE: UnauthorizedOperation \(n1\)$/,
  },
  {
    title: 'U14 pods that wait in a full subnet',
    check: 'waiting',
    severity: 'error',
    picture: {
      subnets: [subnet({ freeAddressCount: 0 })],
      pods: ['web', 'b', 'c', 'd', 'e'].map((name) => pod(name)),
      networks: [
        {
          ...serving,
          status: {
            ...serving.status,
            used: serving.spec.enis
              .flatMap((one) => one.addresses)
              .map((ip, n) => ({ ip, pod: pod(['web', 'b', 'c', 'd'][n] ?? '').key })),
          },
        },
      ],
    },
    says: /1 pods wait for an address on node n1: shop\/e/,
  },
  {
    title: 'U01 kubelet takes more pods than there are addresses for',
    check: 'max-pods',
    severity: 'warning',
    picture: { nodes: [node({ podCapacity: 29 })] },
    says: /kubelet on node n1 takes 29 pods, and m5\.large has addresses for 20/,
  },
  {
    title: 'U07 a subnet that is nearly full',
    check: 'free-addresses',
    severity: 'warning',
    picture: { subnets: [subnet({ freeAddressCount: 20 })] },
    says: /has 20 of 251 addresses free/,
  },
  {
    title: 'U04 a subnet of a zone that is full',
    check: 'free-addresses',
    severity: 'error',
    picture: { subnets: [subnet({ freeAddressCount: 0 })], pods: [] },
    says: /subnet-0000000b \(100\.64\.0\.0\/24, eu-west-1a\) of ENIConfig eu-west-1a has 0 of 251 addresses free/,
  },
  {
    title: 'U08 237 free addresses and no free /28',
    check: 'free-blocks',
    severity: 'info',
    picture: { subnets: [subnet({ freeAddressCount: 237 })] },
    account: {
      used: new Map([
        [
          POD_SUBNET,
          {
            addresses: Array.from({ length: 14 }, (_, n) =>
              nthAddress(cidr('100.64.0.0/24'), 16 * (n + 1) + 3),
            ),
            prefixes: [],
          },
        ],
      ]),
    },
    says: /has 237 free addresses and no free \/28/,
  },
  {
    title: 'U07 a subnet that is nearly full but for what is reserved for prefixes',
    check: 'free-addresses',
    severity: 'warning',
    picture: { subnets: [subnet({ freeAddressCount: 5 })] },
    account: { reservations: new Map([[POD_SUBNET, { prefix: [cidr('100.64.0.128/25')], explicit: [] }]]) },
    says: /has 5 of 124 addresses free outside what is reserved \(100\.64\.0\.128\/25\)/,
  },
  {
    title: 'U08 whole blocks, and none in the reservation',
    check: 'free-blocks',
    severity: 'info',
    picture: { subnets: [subnet({ freeAddressCount: 120 })] },
    account: {
      used: new Map([[POD_SUBNET, { addresses: [], prefixes: [cidr('100.64.0.64/28')] }]]),
      reservations: new Map([[POD_SUBNET, { prefix: [cidr('100.64.0.64/28')], explicit: [] }]]),
    },
    says: /has no free \/28 in what is reserved for prefixes \(100\.64\.0\.64\/28\)/,
  },
  {
    title: 'U101 a subnet for nodes and pods at once',
    check: 'roles',
    severity: 'warning',
    picture: { eniConfigs: [eniConfig({ subnetId: NODE_SUBNET })] },
    says: /subnet-0000000a .* is named by ENIConfig eu-west-1a and is also the node subnet of n1/,
  },
  {
    title: 'a block of pods that nodes reach by SNAT',
    check: 'snat',
    severity: 'warning',
    picture: {
      networks: [network({ settings: { ...serving.spec.settings, directCidrs: [cidr('10.0.0.0/16')] } })],
    },
    says: /100\.64\.0\.0\/24 of ENIConfig eu-west-1a is not among the CIDRs that 1 nodes reach without SNAT/,
  },
  {
    title: 'external SNAT and no default route',
    check: 'routes',
    severity: 'error',
    picture: { networks: [external] },
    account: { defaultRoutes: new Map([[POD_SUBNET, 'none']]) },
    says: /subnet-0000000b of ENIConfig eu-west-1a has no default route/,
  },
  {
    title: 'external SNAT and an internet gateway',
    check: 'routes',
    severity: 'error',
    picture: { networks: [external] },
    account: { defaultRoutes: new Map([[POD_SUBNET, 'internet-gateway']]) },
    says: /is an internet gateway/,
  },
  {
    title: 'a pod that may read instance metadata, one hop too far',
    check: 'metadata',
    severity: 'warning',
    picture: { pods: [pod('web', { annotations: { 'eniwhere.io/allow-imds': 'true' } })] },
    says: /the metadata hop limit of node n1 is 1, and shop\/web may read instance metadata/,
  },
  {
    title: 'a node that serves and still has its startup taint',
    check: 'startup-taint',
    severity: 'warning',
    picture: { nodes: [node({ taints: [{ key: 'eniwhere.io/network-not-ready', effect: 'NoSchedule' }] })] },
    says: /node n1 serves and still has the startup taint/,
  },
  {
    title: 'the AWS VPC CNI beside Eniwhere',
    check: 'aws-cni',
    severity: 'error',
    picture: { pods: [pod('web'), pod('aws-node-x2k4f', { namespace: 'kube-system', hostNetwork: true })] },
    says: /the AWS VPC CNI runs on 1 nodes/,
  },
  {
    title: 'a controller that may not read',
    check: 'read-permissions',
    severity: 'error',
    picture: {},
    account: permitted('Controller', { DescribeVpcs: 'Denied', DescribeSubnets: 'Denied' }),
    says: /do not allow ec2:DescribeVpcs, ec2:DescribeSubnets; EC2 says: UnauthorizedOperation: no DescribeVpcs$/,
  },
  {
    title: 'a controller that may not create ENIs',
    check: 'create-permissions',
    severity: 'error',
    picture: {},
    account: permitted('Controller', { CreateNetworkInterface: 'Denied' }),
    says: /do not allow ec2:CreateNetworkInterface;/,
  },
  {
    title: 'a controller that may attach ENIs and not delete them',
    check: 'change-permissions',
    severity: 'error',
    picture: {},
    account: permitted('Controller', { DeleteNetworkInterface: 'Denied' }),
    says: /do not allow ec2:DeleteNetworkInterface;/,
  },
  {
    title: 'a person who may not create ENIs, which is no fault',
    check: 'create-permissions',
    severity: 'info',
    picture: {},
    account: permitted('Caller', { CreateNetworkInterface: 'Denied' }),
    says: /do not allow ec2:CreateNetworkInterface;/,
  },
];
