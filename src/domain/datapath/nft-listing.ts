// Reads what nft lists: tables, chains and rules with their handles. Only as much of it as is needed to find rules again.

export interface NftChain {
  readonly family: string;
  readonly table: string;
  readonly chain: string;
  readonly rules: readonly { readonly text: string; readonly handle: number }[];
}

const TABLE = /^table (\S+) (\S+) \{/;
const CHAIN = /^\s+chain (\S+) \{/;
const RULE = /^\s+(\S.*?)\s+# handle (\d+)$/;

/** The chains of `nft -a list ruleset`, in its order. Sets, maps and the chains' own types are left out. */
export function parseNftChains(ruleset: string): readonly NftChain[] {
  const chains: { family: string; table: string; chain: string; rules: NftChain['rules'][number][] }[] = [];
  let [family, table] = ['', ''];
  let isInChain = false;
  for (const line of ruleset.split('\n')) {
    const tableLine = TABLE.exec(line);
    const chainLine = CHAIN.exec(line);
    const ruleLine = RULE.exec(line);
    if (tableLine !== null) [, family = '', table = ''] = tableLine;
    else if (chainLine !== null) {
      chains.push({ family, table, chain: chainLine[1] ?? '', rules: [] });
      isInChain = true;
    } else if (/^\s*\}/.test(line)) isInChain = false;
    else if (isInChain && ruleLine !== null) {
      const text = (ruleLine[1] ?? '').replace(/\s+/g, ' ');
      chains.at(-1)?.rules.push({ text, handle: Number(ruleLine[2]) });
    }
  }
  return chains;
}
