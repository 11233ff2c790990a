// Checks of what the AWS credentials in use may do, by what EC2 answered to dry runs.

import type { AccountPicture } from './account-picture.ts';
import type { Found } from './finding.ts';
import type { PermissionFinding } from './permission-finding.ts';

/** Actions that fail together in what they keep from working. */
export type ActionGroup = 'Read' | 'Create' | 'Change';

function groupOf(action: string): ActionGroup {
  if (action.startsWith('Describe')) return 'Read';
  return action === 'CreateNetworkInterface' ? 'Create' : 'Change';
}

/** EC2 has no dry run of these: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssignPrivateIpAddresses.html */
const UNTRIABLE: ReadonlySet<string> = new Set([
  'AssignPrivateIpAddresses',
  'UnassignPrivateIpAddresses',
  'AssignIpv6Addresses',
  'UnassignIpv6Addresses',
]);

const WHY: Readonly<Record<ActionGroup, string>> = {
  Read: 'a controller that may not see nodes, subnets and network interfaces decides nothing for them',
  Create: 'a controller that may not do this makes no network interface: pods get no address',
  Change:
    'a controller that may not do this creates network interfaces and cannot use them, or cannot give them back',
};

const triedIn = ({ permissions }: AccountPicture, group: ActionGroup): readonly PermissionFinding[] =>
  (permissions?.tried ?? []).filter((one) => groupOf(one.action) === group);

/** A denial tells enough; that all is allowed, only answers for each that has a dry run (TOOL-5). */
export function canTellPermissions(account: AccountPicture, group: ActionGroup): boolean {
  const tried = triedIn(account, group);
  if (tried.some((one) => one.verdict === 'Denied')) return true;
  const triable = tried.filter((one) => !UNTRIABLE.has(one.action));
  return triable.length > 0 && triable.every((one) => one.verdict === 'Allowed');
}

export function checkPermissions(account: AccountPicture, group: ActionGroup): readonly Found[] {
  const denied = triedIn(account, group).filter((one) => one.verdict === 'Denied');
  const [first] = denied;
  if (first === undefined) return [];
  const isController = account.permissions?.of === 'Controller';
  const actions = denied.map((one) => `ec2:${one.action}`).join(', ');
  return [
    {
      severity: isController ? 'error' : 'info',
      what: `the AWS credentials in use do not allow ${actions}; EC2 says: ${withoutEncoded(first.message)}`,
      why: isController ? WHY[group] : `${WHY[group]}; if they are not the controller's, this is no fault`,
      fix: 'eniwhere iam-policy --cluster NAME > policy.json; aws iam put-role-policy --role-name ROLE --policy-name eniwhere --policy-document file://policy.json',
    },
  ];
}

/** What follows are kilobytes that only `aws sts decode-authorization-message` can read. */
const withoutEncoded = (message: string): string =>
  (message.split(' Encoded authorization failure message')[0] ?? message).replace(/\.$/, '');
