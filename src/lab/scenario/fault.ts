// A trouble of EC2 as people write it, in scenario files and on the command line.

import type { Result } from '../../domain/result.ts';
import { type Ec2Fault, parseEc2Fault } from '../ec2/ec2-fault.ts';

export type Fault = Ec2Fault;

/** `ACTION:EFFECT[:odds=N][:times=N]`; the error says what is wrong and how to write it. */
export const parseFault = (text: string): Result<Fault, string> => parseEc2Fault(text);
