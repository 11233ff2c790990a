// An EC2 failure as people are told of it.

import type { Ec2Failure } from '../ports/ec2.ts';

/** EC2 makes it anew for each call; `aws sts decode-authorization-message` reads it from the log. */
const ENCODED = /\s*Encoded authorization failure message: \S+/;

/** EC2's code and words, without what differs from one call to the next: the same failure is the same Event. */
export const failureText = ({ code, message }: Ec2Failure): string =>
  `${code}: ${message.replace(ENCODED, '')}`;
