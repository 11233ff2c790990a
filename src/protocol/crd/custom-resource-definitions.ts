// The CustomResourceDefinitions, made from the schemas by which the code itself reads and writes the objects.

import type { z } from 'zod';
import { ENI_CONFIG_API_VERSION, ENI_CONFIG_KIND } from './eni-config.ts';
import { eniConfigSpec, eniConfigStatus } from './eni-config-object.ts';
import {
  NODE_NETWORK_API_VERSION,
  NODE_NETWORK_KIND,
  nodeNetworkSpec,
  nodeNetworkStatus,
} from './node-network.ts';
import {
  NODE_NETWORK_CLASS_API_VERSION,
  NODE_NETWORK_CLASS_KIND,
  nodeNetworkClassSpec,
} from './node-network-class.ts';
import { nodeNetworkClassStatus } from './node-network-class-object.ts';
import { structuralSchema } from './structural-schema.ts';

interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description?: string;
  /** 1: only with `-o wide`. */
  readonly priority?: 1;
}

interface Definition {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly description: string;
  readonly spec: z.ZodType;
  readonly isSpecRequired: boolean;
  readonly status: z.ZodType;
  readonly columns: readonly Column[];
  /** Fields beside spec and status are kept, too. */
  readonly isOpen: boolean;
}

const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const condition = (type: string, field: string): string =>
  `.status.conditions[?(@.type=="${type}")].${field}`;

const eniConfig: Definition = {
  apiVersion: ENI_CONFIG_API_VERSION,
  kind: ENI_CONFIG_KIND,
  plural: 'eniconfigs',
  shortNames: ['enic'],
  description: 'Names the subnet and the security groups that pods of a node get.',
  spec: eniConfigSpec,
  isSpecRequired: false,
  status: eniConfigStatus,
  isOpen: true,
  columns: [
    { name: 'Subnet', type: 'string', jsonPath: '.spec.subnet' },
    { name: 'Zone', type: 'string', jsonPath: '.status.zone' },
    { name: 'CIDR', type: 'string', jsonPath: '.status.cidr' },
    { name: 'Free', type: 'integer', jsonPath: '.status.freeAddressCount', description: 'Free addresses.' },
    { name: 'Ready', type: 'boolean', jsonPath: '.status.ready' },
    age,
    { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
  ],
};

const nodeNetwork: Definition = {
  apiVersion: NODE_NETWORK_API_VERSION,
  kind: NODE_NETWORK_KIND,
  plural: 'nodenetworks',
  shortNames: ['nn'],
  description:
    'The network of the node of the same name: what the controller grants, and what the agent uses of it.',
  spec: nodeNetworkSpec,
  isSpecRequired: true,
  status: nodeNetworkStatus,
  isOpen: false,
  columns: [
    { name: 'ENIConfig', type: 'string', jsonPath: '.spec.selection.name' },
    {
      name: 'Why',
      type: 'string',
      jsonPath: '.spec.selection.source',
      description: 'The rule that chose it.',
    },
    {
      name: 'Mode',
      type: 'string',
      jsonPath: '.spec.mode',
      description: 'Single addresses, or blocks.',
    },
    {
      name: 'Used',
      type: 'integer',
      jsonPath: '.status.usedCount',
      description: 'Addresses that pods have.',
    },
    { name: 'Total', type: 'integer', jsonPath: '.status.totalCount', description: 'Addresses for pods.' },
    { name: 'Ready', type: 'string', jsonPath: condition('AgentReady', 'status') },
    age,
    { name: 'Instance', type: 'string', jsonPath: '.spec.instance.instanceId', priority: 1 },
    { name: 'Zone', type: 'string', jsonPath: '.spec.instance.zone', priority: 1 },
    { name: 'Reason', type: 'string', jsonPath: '.spec.selection.reason', priority: 1 },
  ],
};

const nodeNetworkClass: Definition = {
  apiVersion: NODE_NETWORK_CLASS_API_VERSION,
  kind: NODE_NETWORK_CLASS_KIND,
  plural: 'nodenetworkclasses',
  shortNames: ['nnc'],
  description: 'Chooses ENIConfigs for the nodes that it matches, and the settings of their network.',
  spec: nodeNetworkClassSpec,
  isSpecRequired: true,
  status: nodeNetworkClassStatus,
  isOpen: false,
  columns: [
    { name: 'Priority', type: 'integer', jsonPath: '.spec.priority' },
    { name: 'Strategy', type: 'string', jsonPath: '.spec.strategy' },
    { name: 'Nodes', type: 'integer', jsonPath: '.status.nodeCount' },
    { name: 'Ready', type: 'boolean', jsonPath: '.status.ready' },
    age,
    { name: 'ENIConfigs', type: 'string', jsonPath: '.status.eniConfigs', priority: 1 },
    { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
  ],
};

/** In the order in which they are documented. */
const definitions: readonly Definition[] = [eniConfig, nodeNetworkClass, nodeNetwork];

/** File name -> CustomResourceDefinition (apiextensions.k8s.io/v1), as plain data. */
export const customResourceDefinitions = (): ReadonlyMap<string, unknown> =>
  new Map(definitions.map((definition) => [`${nameOf(definition)}.yaml`, crdOf(definition)]));

const groupOf = ({ apiVersion }: Definition): string => apiVersion.split('/')[0] ?? '';
const nameOf = (definition: Definition): string => `${definition.plural}.${groupOf(definition)}`;

const crdOf = (definition: Definition): unknown => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: nameOf(definition) },
  spec: {
    group: groupOf(definition),
    scope: 'Cluster',
    names: {
      kind: definition.kind,
      listKind: `${definition.kind}List`,
      plural: definition.plural,
      singular: definition.kind.toLowerCase(),
      shortNames: definition.shortNames,
      // `kubectl get eniwhere` shows them all.
      categories: ['eniwhere'],
    },
    versions: [
      {
        name: definition.apiVersion.split('/')[1],
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: definition.columns,
        schema: { openAPIV3Schema: rootOf(definition) },
      },
    ],
  },
});

const rootOf = (definition: Definition): unknown => ({
  type: 'object',
  description: definition.description,
  ...(definition.isOpen ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    spec: structuralSchema(definition.spec),
    status: structuralSchema(definition.status),
  },
  ...(definition.isSpecRequired ? { required: ['spec'] } : {}),
});
