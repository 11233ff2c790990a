// Policy rules over rtnetlink (linux/fib_rules.h).

import type { IpFamily } from '../../domain/address/ip.ts';
import { unless } from './kernel-refusal.ts';
import { addressFamilyOf, ipFamilyOf } from './ip-bytes.ts';
import {
  attributesOf,
  type NetlinkMessage,
  NLM_F_CREATE,
  NLM_F_EXCL,
  u32Attribute,
  u32Of,
  u8Attribute,
  u8Of,
} from './netlink-message.ts';
import { dump, type NetlinkSocket } from './netlink-socket.ts';
import { ipCommand } from './route.ts';

/** `from all [fwmark MARK/MASK] lookup TABLE` */
export interface Rule {
  readonly family: IpFamily;
  readonly priority: number;
  readonly table: number;
  readonly fwmark: { readonly mark: number; readonly mask: number } | undefined;
  readonly protocol: number;
}

/** A rule as listed. A `plain` one has no other selector or action than those of `Rule`. */
export interface ListedRule extends Rule {
  readonly plain: boolean;
  /** The message it was listed with, which names it exactly when it is deleted. */
  readonly body: Buffer;
}

const RTM_NEWRULE = 32;
const RTM_DELRULE = 33;
const RTM_GETRULE = 34;
const FIB_RULE_HEADER_LENGTH = 12;
const FR_ACT_TO_TBL = 1;
const FRA_PRIORITY = 6;
const FRA_FWMARK = 10;
const FRA_SUPPRESS_PREFIXLEN = 14;
const FRA_TABLE = 15;
const FRA_FWMASK = 16;
const FRA_PROTOCOL = 21;
const SUPPRESS_NOTHING = 0xffff_ffff;
const PLAIN_ATTRIBUTES = new Set([
  FRA_PRIORITY,
  FRA_FWMARK,
  FRA_SUPPRESS_PREFIXLEN,
  FRA_TABLE,
  FRA_FWMASK,
  FRA_PROTOCOL,
]);

/** The part of an `ip rule` line after `add` or `del`. */
export function ruleText(rule: Rule): string {
  const { fwmark } = rule;
  const mark =
    fwmark === undefined ? '' : ` fwmark 0x${fwmark.mark.toString(16)}/0x${fwmark.mask.toString(16)}`;
  return `prio ${rule.priority}${mark} lookup ${rule.table}`;
}

/** `ip rule add`. EEXIST when the very same rule is there. */
export function addRule(rule: Rule): NetlinkMessage {
  const header = Buffer.alloc(FIB_RULE_HEADER_LENGTH);
  header[0] = addressFamilyOf(rule.family);
  header[7] = FR_ACT_TO_TBL;
  const { fwmark } = rule;
  const mark =
    fwmark === undefined
      ? []
      : [u32Attribute(FRA_FWMARK, fwmark.mark), u32Attribute(FRA_FWMASK, fwmark.mask)];
  return {
    step: `${ipCommand(rule.family)} rule add ${ruleText(rule)}`,
    type: RTM_NEWRULE,
    flags: NLM_F_CREATE | NLM_F_EXCL,
    body: Buffer.concat([
      header,
      u32Attribute(FRA_PRIORITY, rule.priority),
      u32Attribute(FRA_TABLE, rule.table),
      u8Attribute(FRA_PROTOCOL, rule.protocol),
      ...mark,
    ]),
  };
}

/** `ip rule del` */
export const deleteRule = (rule: ListedRule): NetlinkMessage => ({
  step: `${ipCommand(rule.family)} rule del ${ruleText(rule)}`,
  type: RTM_DELRULE,
  flags: 0,
  body: rule.body,
});

/** `ip rule show` */
export function listRules(socket: NetlinkSocket, family: IpFamily): readonly ListedRule[] {
  const header = Buffer.alloc(FIB_RULE_HEADER_LENGTH);
  header[0] = addressFamilyOf(family);
  // A kernel without IPv6 refuses its family: no rule can be there.
  const bodies = unless(['EAFNOSUPPORT', 'EOPNOTSUPP'], () =>
    dump(socket, {
      step: `${ipCommand(family)} rule show`,
      type: RTM_GETRULE,
      flags: 0,
      body: header,
    }),
  );
  return (bodies ?? []).flatMap((body) => ruleOf(body) ?? []);
}

function ruleOf(body: Buffer): ListedRule | undefined {
  const family = ipFamilyOf(body[0] ?? 0);
  if (family === undefined) return undefined;
  const attributes = attributesOf(body, FIB_RULE_HEADER_LENGTH);
  const mark = u32Of(attributes, FRA_FWMARK) ?? 0;
  const mask = u32Of(attributes, FRA_FWMASK) ?? 0;
  const invertedOrSelective =
    body[1] !== 0 || body[2] !== 0 || body[3] !== 0 || (body.readUInt32LE(8) & 2) !== 0;
  return {
    family,
    priority: u32Of(attributes, FRA_PRIORITY) ?? 0,
    table: u32Of(attributes, FRA_TABLE) ?? body[4] ?? 0,
    fwmark: mark === 0 && mask === 0 ? undefined : { mark, mask },
    protocol: u8Of(attributes, FRA_PROTOCOL) ?? 0,
    plain:
      body[7] === FR_ACT_TO_TBL &&
      !invertedOrSelective &&
      (u32Of(attributes, FRA_SUPPRESS_PREFIXLEN) ?? SUPPRESS_NOTHING) === SUPPRESS_NOTHING &&
      [...attributes.keys()].every((type) => PLAIN_ATTRIBUTES.has(type)),
    body,
  };
}
