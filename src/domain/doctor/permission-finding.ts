// What EC2 answered when an action was tried without being done.

export interface PermissionFinding {
  /** EC2's name of the action; CreateNetworkInterface stands for CreateTags, too, which the same request needs. */
  readonly action: string;
  /** `Unknown`: EC2 said neither yes nor no, or there is nothing to try it on. */
  readonly verdict: 'Allowed' | 'Denied' | 'Unknown';
  /** EC2's words, or what is missing for an answer. */
  readonly message: string;
}
