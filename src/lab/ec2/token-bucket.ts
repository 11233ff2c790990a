// EC2's request throttling: a token bucket per action, per account and Region.
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html

interface BucketSize {
  /** Requests that may come at once. */
  readonly capacity: number;
  readonly refillPerSecond: number;
}

const BUCKETS = {
  CreateNetworkInterface: { capacity: 100, refillPerSecond: 5 },
  DeleteNetworkInterface: { capacity: 100, refillPerSecond: 5 },
  ModifyNetworkInterfaceAttribute: { capacity: 100, refillPerSecond: 5 },
  AssignPrivateIpAddresses: { capacity: 100, refillPerSecond: 5 },
  UnassignPrivateIpAddresses: { capacity: 100, refillPerSecond: 5 },
  AssignIpv6Addresses: { capacity: 100, refillPerSecond: 5 },
  UnassignIpv6Addresses: { capacity: 100, refillPerSecond: 5 },
  AttachNetworkInterface: { capacity: 50, refillPerSecond: 5 },
  DetachNetworkInterface: { capacity: 50, refillPerSecond: 5 },
  DescribeNetworkInterfaces: { capacity: 100, refillPerSecond: 20 },
  DescribeInstances: { capacity: 100, refillPerSecond: 20 },
  DescribeSubnets: { capacity: 100, refillPerSecond: 20 },
  DescribeSecurityGroups: { capacity: 100, refillPerSecond: 20 },
  DescribeVpcs: { capacity: 100, refillPerSecond: 20 },
  DescribeInstanceTypes: { capacity: 100, refillPerSecond: 20 },
  /** With neither filter nor pagination. */
  'DescribeNetworkInterfaces (unfiltered)': { capacity: 50, refillPerSecond: 10 },
} as const satisfies Record<string, BucketSize>;

export type BucketName = keyof typeof BUCKETS;
export type Ec2Action = Exclude<BucketName, `${string} (unfiltered)`>;

export interface TokenBuckets {
  /** Takes one token; false when there is none. `otherSpendersPerSecond` slows the refill since the last call. */
  take(name: BucketName, otherSpendersPerSecond: number): boolean;
  /** Takes up to `count` tokens without asking: another tool's calls. */
  spend(name: BucketName, count: number): void;
  /** Tokens left, not a whole number. */
  level(name: BucketName): number;
}

/** One token per second is one thousandth per millisecond. */
const TOKEN = 1000;

export function createTokenBuckets(now: () => number): TokenBuckets {
  // bucket -> its level, in thousandths of a token so that sums are exact, at a time; an unused one is full
  const levels = new Map<BucketName, { level: number; at: number }>();

  const refilled = (name: BucketName, otherSpendersPerSecond: number): { level: number; at: number } => {
    const { capacity, refillPerSecond } = BUCKETS[name];
    const bucket = levels.get(name) ?? { level: capacity * TOKEN, at: now() };
    const elapsedMs = Math.max(0, now() - bucket.at);
    const gained = elapsedMs * (refillPerSecond - otherSpendersPerSecond);
    bucket.level = Math.min(capacity * TOKEN, Math.max(0, bucket.level + gained));
    bucket.at = now();
    levels.set(name, bucket);
    return bucket;
  };

  return {
    take: (name, otherSpendersPerSecond) => {
      const bucket = refilled(name, otherSpendersPerSecond);
      if (bucket.level < TOKEN) return false;
      bucket.level -= TOKEN;
      return true;
    },
    spend: (name, count) => {
      const bucket = refilled(name, 0);
      bucket.level = Math.max(0, bucket.level - count * TOKEN);
    },
    level: (name) => refilled(name, 0).level / TOKEN,
  };
}
