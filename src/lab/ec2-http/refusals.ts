// What the query protocol itself refuses, before any action runs.

import type { Ec2Failure } from '../../ports/ec2.ts';
import { failed } from '../../ports/outcome.ts';

type Refusal = { readonly kind: 'failed'; readonly failure: Ec2Failure };

const refuse = (code: string, message: string): Refusal => failed({ kind: 'invalid', code, message });

export const missing = (name: string): Refusal =>
  refuse('MissingParameter', `The request must contain the parameter ${name}`);

export const unknownParameter = (name: string): Refusal =>
  refuse('UnknownParameter', `The parameter ${name} is not recognized by the simulated EC2`);

export const badParameter = (message: string): Refusal => refuse('InvalidParameterValue', message);

export const badCombination = (message: string): Refusal => refuse('InvalidParameterCombination', message);

export const unsupported = (message: string): Refusal => refuse('UnsupportedOperation', message);

export const unknownAction = (action: string): Refusal =>
  refuse('InvalidAction', `The action '${action}' is not valid for the simulated EC2`);

export const badToken = (): Refusal =>
  refuse('InvalidPaginationToken', 'The specified pagination token is not valid or is expired.');

export const DRY_RUN_CODE = 'DryRunOperation';

/** A dry run always ends in a refusal: that it would have worked, or that it is not allowed. */
export const dryRun = (action: string, isDenied: boolean): Refusal =>
  isDenied
    ? failed({
        kind: 'unauthorized',
        code: 'UnauthorizedOperation',
        message: `You are not authorized to perform this operation: ec2:${action}.`,
      })
    : refuse(DRY_RUN_CODE, 'Request would have succeeded, but DryRun flag is set.');
