// Who may import whom, and which npm package belongs where. ARCHITECTURE.md shows the same tables.

interface Row {
  readonly from: string;
  readonly mayImport: readonly string[];
}

/** Imports inside a layer are free, but for adapters: each knows its own folder and `adapters/system` alone. */
export const matrix: readonly Row[] = [
  { from: 'domain', mayImport: ['domain'] },
  { from: 'protocol', mayImport: ['domain', 'protocol'] },
  { from: 'ports', mayImport: ['domain', 'ports'] },
  { from: 'adapters', mayImport: ['domain', 'protocol', 'ports', 'adapters/system'] },
  { from: 'controller', mayImport: ['domain', 'protocol', 'ports', 'controller'] },
  { from: 'agent', mayImport: ['domain', 'protocol', 'ports', 'agent'] },
  { from: 'cni', mayImport: ['protocol', 'cni'] },
  { from: 'cli', mayImport: ['domain', 'protocol', 'ports', 'cli', 'lab/scenario'] },
  { from: 'lab', mayImport: ['domain', 'protocol', 'ports', 'lab', 'lab/scenario'] },
  {
    from: 'lab/scenario',
    mayImport: ['domain', 'protocol', 'ports', 'controller', 'agent', 'lab', 'lab/scenario'],
  },
  {
    from: 'bin',
    mayImport: [
      'domain',
      'protocol',
      'ports',
      'adapters',
      'controller',
      'agent',
      'cni',
      'cli',
      'lab',
      'lab/scenario',
      'bin',
    ],
  },
];

/** npm package -> the only folders that may import it; `cni` and what it reaches have none at all. */
export const packages: ReadonlyMap<string, readonly string[]> = new Map([
  ['zod', ['src/protocol/', 'src/controller/', 'src/agent/', 'src/lab/scenario/', 'src/adapters/']],
  ['yaml', ['src/lab/scenario/', 'src/cli/', 'src/adapters/kubernetes/']],
  ['koffi', ['src/adapters/linux/']],
  ['pino', ['src/adapters/system/']],
  ['prom-client', ['src/adapters/system/']],
  ['@aws-sdk/client-ec2', ['src/adapters/aws/']],
  ['commander', ['src/cli/', 'src/bin/']],
]);

/** `src/lab/scenario/x/y.ts` -> `lab/scenario`; every other file belongs to its first folder. */
export function layerOf(path: string): string {
  const [, first = '', second = ''] = path.split('/');
  return first === 'lab' && second === 'scenario' ? 'lab/scenario' : first;
}

/** Why `from` may not import `to`, both paths of product files; undefined where it may. */
export function importFault(from: string, to: string): string | undefined {
  const [fromLayer, toLayer] = [layerOf(from), layerOf(to)];
  const row = matrix.find((one) => one.from === fromLayer);
  if (row === undefined) return `src/${fromLayer}/ is not a layer of the import matrix`;
  const adapter = (path: string): string => path.split('/').slice(1, 3).join('/');
  const targets =
    toLayer === 'adapters' && fromLayer !== 'bin'
      ? [adapter(to), ...(adapter(from) === adapter(to) ? ['adapters/system'] : [])]
      : [toLayer];
  return targets.some((target) => row.mayImport.includes(target))
    ? undefined
    : `${fromLayer} may import ${row.mayImport.join(', ')}; not ${toLayer}`;
}
