// The same choice in shell, for boot documents: functions in bash that need no more than sha1sum.

import { byNarrowness } from './choose-by-address.ts';
import type { AddressRow } from './request.ts';

/** Instance metadata of version 2. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html */
const METADATA = 'http://169.254.169.254/latest';
const METADATA_TRIES = 30;

/**
 * Defines `eniwhere_choose ADDRESS`, which prints the ENIConfig's name. The weights are those of rendezvousChoice: the
 * greatest SHA-1 of `ADDRESS/NAME`. Numbers are below 2^32, and bash counts to 2^63.
 */
export function chooseFunctions(rows: readonly AddressRow[]): string {
  const table = byNarrowness(rows).map(({ nodeCidr, eniConfigs }) => `${nodeCidr} ${eniConfigs.join(' ')}`);
  return `# Blocks of node addresses, the narrowest first, and the ENIConfigs for nodes in them.
eniwhere_rows() {
  cat <<'ROWS'
${table.join('\n')}
ROWS
}

# Sets REPLY to the address as a number.
eniwhere_number() {
  local a b c d
  IFS=. read -r a b c d <<<"$1"
  REPLY=$(((a << 24) + (b << 16) + (c << 8) + d))
}

eniwhere_contains() { # CIDR ADDRESS
  local shift=$((32 - \${1#*/})) block
  eniwhere_number "\${1%/*}"
  block=$((REPLY >> shift))
  eniwhere_number "$2"
  [ $((REPLY >> shift)) -eq $block ]
}

# Of several ENIConfigs, the one with the greatest SHA-1 of ADDRESS/NAME: the controller's own rule.
eniwhere_choose() { # ADDRESS
  local address=$1 cidr names name weight best LC_ALL=C
  while read -r cidr names; do
    eniwhere_contains "$cidr" "$address" || continue
    best=
    for name in $names; do
      weight=$(printf '%s/%s' "$address" "$name" | sha1sum)
      weight="\${weight%% *} $name"
      if [[ $weight > $best ]]; then best=$weight; fi
    done
    echo "\${best#* }"
    return
  done < <(eniwhere_rows)
  # No ENIConfig has this name, so the node gets no pod network rather than a wrong one.
  echo "none-for-$address"
}`;
}

/** Sets `eniwhere_eni_config` by the instance's own address. */
export function chooseHere(): string {
  return `eniwhere_address() {
  local token try
  for try in $(seq ${METADATA_TRIES}); do
    if token=$(curl -sf -m 2 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' ${METADATA}/api/token) &&
      curl -sf -m 2 -H "X-aws-ec2-metadata-token: $token" ${METADATA}/meta-data/local-ipv4; then
      return
    fi
    sleep 1
  done
  return 1
}

# Without an address the label names no ENIConfig, for the same reason as above.
if eniwhere_own_address=$(eniwhere_address); then
  eniwhere_eni_config=$(eniwhere_choose "$eniwhere_own_address")
else
  eniwhere_eni_config=address-unknown
fi`;
}
