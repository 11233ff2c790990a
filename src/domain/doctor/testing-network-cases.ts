// One case for each check of roles, security groups, endpoints and what runs on nodes.

import { cidr, ip } from '../address/testing.ts';
import {
  eniConfig,
  GROUP,
  instance,
  network,
  NODE_SUBNET,
  picture,
  type PictureOptions,
  node,
  pod,
  POD_SUBNET,
  VPC,
} from '../explain/testing.ts';
import type { EniId, NodeName, SecurityGroupId } from '../ids.ts';
import type { GroupRules, SecurityGroupRule } from './security-group-rule.ts';
import { ALL, type Case, CONTROL_PLANE_GROUP, IN, IN_ORDER, OUT } from './testing.ts';
import type { VpcEndpoint } from './vpc-endpoint.ts';

const PODS = 'sg-0000000b' as SecurityGroupId;
const { ec2 } = picture();
/** Pods of the ENIConfig have a group of their own. */
const ofPods: PictureOptions = {
  ...IN_ORDER,
  eniConfigs: [eniConfig({ securityGroupIds: [PODS] })],
  ec2:
    typeof ec2 === 'string'
      ? ec2
      : {
          ...ec2,
          groupVpcs: new Map([
            [GROUP, VPC],
            [PODS, VPC],
          ]),
        },
};

const rules = (of: Readonly<Record<string, readonly SecurityGroupRule[]>>): GroupRules =>
  new Map(
    [[GROUP, [IN, OUT]], [PODS, [IN, OUT]], [CONTROL_PLANE_GROUP, [IN, OUT]], ...Object.entries(of)].map(
      ([id, list]) => [id as SecurityGroupId, list as readonly SecurityGroupRule[]],
    ),
  );

const ingress = (protocol: 'tcp' | 'udp', port: number): SecurityGroupRule => ({
  direction: 'Ingress',
  protocol,
  ports: { from: port, to: port },
  peer: ALL,
});

const endpoint = (service: string, with_: Partial<VpcEndpoint> = {}): VpcEndpoint => ({
  endpointId: `vpce-${service}`,
  vpcId: VPC,
  service,
  kind: 'Interface',
  isAvailable: true,
  hasPrivateDns: true,
  securityGroupIds: [GROUP],
  addresses: [ip('10.0.0.99')],
  ...with_,
});
const others = ['ecr.api', 'ecr.dkr', 's3', 'sts'].map((service) => endpoint(service));

const PRIVATE = new Map([
  [NODE_SUBNET, 'none' as const],
  [POD_SUBNET, 'none' as const],
]);
const external = network({ settings: { ...network().spec.settings, externalSnat: true } });

const dns = (name: string, with_: Parameters<typeof pod>[1] = {}) =>
  pod(name, { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' }, ...with_ });
const withTwoServers = network();
const twoServers = {
  ...withTwoServers,
  status: {
    ...withTwoServers.status,
    used: [
      { ip: ip('100.64.0.5'), pod: dns('coredns-1').key },
      { ip: ip('100.64.0.6'), pod: dns('coredns-2').key },
    ],
  },
};

export const networkCases: readonly Case[] = [
  {
    title: "U101 a subnet for pods and the control plane's ENIs at once",
    check: 'other-roles',
    severity: 'warning',
    picture: {},
    account: {
      controlPlane: [
        {
          eniId: 'eni-0000000c' as EniId,
          subnetId: POD_SUBNET,
          address: ip('100.64.0.200'),
          securityGroupIds: [CONTROL_PLANE_GROUP],
        },
      ],
    },
    says: /subnet-0000000b \(100\.64\.0\.0\/24\) is named by ENIConfig eu-west-1a and is also one of the control plane's: eni-0000000c/,
  },
  {
    title: 'U101 a subnet for pods that is tagged for load balancers',
    check: 'other-roles',
    severity: 'warning',
    picture: {},
    account: { subnetTags: new Map([[POD_SUBNET, { 'kubernetes.io/role/internal-elb': '1' }]]) },
    says: /is tagged for load balancers: kubernetes\.io\/role\/internal-elb/,
  },
  {
    title: 'U20 pods under groups of their own, which the DNS servers’ do not let in',
    check: 'dns-groups',
    severity: 'error',
    picture: ofPods,
    account: {
      groupRules: rules({ [GROUP]: [OUT, { ...IN, peer: { kind: 'Group', securityGroupId: GROUP } }] }),
    },
    says: /pods of ENIConfig eu-west-1a \(sg-0000000b\) may not reach port 53 by UDP and TCP of DNS server kube-system\/coredns-1 \(sg-00000001\): no ingress rule of sg-00000001/,
  },
  {
    title: 'DNS by UDP alone',
    check: 'dns-groups',
    severity: 'warning',
    picture: ofPods,
    account: { groupRules: rules({ [GROUP]: [OUT, ingress('udp', 53)] }) },
    says: /port 53 by TCP of DNS server/,
  },
  {
    title: 'U20 pods whose groups let nothing out but HTTP',
    check: 'api-groups',
    severity: 'error',
    picture: ofPods,
    account: {
      groupRules: rules({
        [PODS]: [IN, { ...OUT, protocol: 'tcp', ports: { from: 80, to: 80 } }],
      }),
    },
    says: /may not reach port 443 of the control plane's ENI eni-0000000c \(sg-0000000c\): no egress rule of sg-0000000b/,
  },
  {
    title: 'groups of pods that let the API server reach nothing',
    check: 'webhook-groups',
    severity: 'warning',
    picture: ofPods,
    account: {
      groupRules: rules({ [PODS]: [OUT, { ...IN, peer: { kind: 'Cidr', cidr: cidr('100.64.0.0/16') } }] }),
    },
    says: /the API server may not reach any port of pods of ENIConfig eu-west-1a \(sg-0000000b\): no ingress rule/,
  },
  {
    title: 'nodes without a way out, and no endpoint of EC2',
    check: 'endpoints',
    severity: 'error',
    picture: {},
    account: { defaultRoutes: PRIVATE, endpoints: others },
    says: /node subnet subnet-0000000a has no default route, and vpc-00000001 has no endpoint for ec2/,
  },
  {
    title: 'an endpoint of STS that its own name does not lead to',
    check: 'endpoints',
    severity: 'warning',
    picture: {},
    account: {
      defaultRoutes: PRIVATE,
      endpoints: [endpoint('ec2'), ...others.slice(0, 3), endpoint('sts', { hasPrivateDns: false })],
    },
    says: /no endpoint for sts that it reaches/,
  },
  {
    title: 'external SNAT, and a gateway endpoint that only the nodes’ routes lead to',
    check: 'gateway-endpoints',
    severity: 'error',
    picture: { networks: [external] },
    account: {
      defaultRoutes: PRIVATE,
      endpoints: [endpoint('s3', { kind: 'Gateway' })],
      gatewayEndpoints: new Map([
        [NODE_SUBNET, ['vpce-s3']],
        [POD_SUBNET, []],
      ]),
    },
    says: /subnet-0000000b of ENIConfig eu-west-1a does not lead to gateway endpoint vpce-s3 \(s3\)/,
  },
  {
    title: 'an endpoint whose groups do not let pods in',
    check: 'endpoint-groups',
    severity: 'warning',
    picture: ofPods,
    account: {
      endpoints: [endpoint('sts', { securityGroupIds: ['sg-0000000e' as SecurityGroupId] })],
      groupRules: rules({ 'sg-0000000e': [ingress('tcp', 80)] }),
    },
    says: /pods of ENIConfig eu-west-1a \(sg-0000000b\) may not reach the endpoint of sts \(vpce-sts\) by port 443/,
  },
  {
    title: 'U100 two DNS servers share an ENI, and so what the resolver takes from it',
    check: 'dns-enis',
    severity: 'warning',
    picture: { ...IN_ORDER, pods: [dns('coredns-1'), dns('coredns-2')], networks: [twoServers] },
    says: /kube-system\/coredns-1, kube-system\/coredns-2 share eni-\w+ of node n1/,
  },
  {
    title: 'U37 a pod that waits for a branch ENI, which no node has',
    check: 'branch-enis',
    severity: 'error',
    picture: { pods: [{ ...withoutNode('db'), asksBranchEni: true }] },
    says: /shop\/db wait for a node with a free branch ENI \(vpc\.amazonaws\.com\/pod-eni\), which none has/,
  },
  {
    title: 'U37 a pod that asked for a branch ENI and runs without one',
    check: 'branch-enis',
    severity: 'error',
    picture: { pods: [pod('db', { asksBranchEni: true })] },
    says: /shop\/db asked for a branch ENI .* and run on nodes of Eniwhere's/,
  },
  {
    title: 'a kernel that is too old',
    check: 'kernels',
    severity: 'error',
    picture: {
      nodes: [
        node({ kernelVersion: '4.14.355-275.570.amzn2.x86_64' }),
        node({ name: 'n2' as NodeName, kernelVersion: '5.2.0', instanceId: instance.instanceId }),
      ],
    },
    says: /kernel 4\.14\.355-275\.570\.amzn2\.x86_64 of n1 is older than 5\.2/,
  },
];

function withoutNode(name: string) {
  const { nodeName: _, ...rest } = pod(name);
  return rest;
}
