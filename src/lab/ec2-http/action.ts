// What an action of the query protocol is.

import type { Ec2, Ec2Outcome } from '../../ports/ec2.ts';
import type { Ec2Truth } from '../ec2/ec2-truth.ts';
import type { Params } from './form.ts';
import type { Pages } from './pages.ts';
import type { XmlFields } from './xml.ts';

export interface ActionContext {
  readonly ec2: Ec2;
  /** What exists, for describes that name no ids. */
  readonly truth: Ec2Truth;
  readonly pages: Pages;
}

export interface Action {
  /** First parts of the names that it takes, beside those of every request. */
  readonly parameters: readonly string[];
  run(params: Params, context: ActionContext): Promise<Ec2Outcome<XmlFields>>;
}
