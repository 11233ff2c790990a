// What came of an effect. A call that timed out is `unknown`: it may or may not have happened, and treating it as a
// failure is a bug class of its own (ec2.md, ClientToken).

export type Outcome<T, F> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'failed'; readonly failure: F }
  | { readonly kind: 'unknown'; readonly cause: string };

export const done = <T>(value: T): { readonly kind: 'ok'; readonly value: T } => ({ kind: 'ok', value });
export const failed = <F>(failure: F): { readonly kind: 'failed'; readonly failure: F } => ({
  kind: 'failed',
  failure,
});
export const unknown = (cause: string): { readonly kind: 'unknown'; readonly cause: string } => ({
  kind: 'unknown',
  cause,
});
