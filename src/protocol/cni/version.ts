// The versions of the CNI specification that are spoken here.

/** Oldest first. 0.3.0 and before differ from 0.3.1 in nothing but a typo, or have no interfaces in their results. */
export const CNI_VERSIONS = ['0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;

export type CniVersion = (typeof CNI_VERSIONS)[number];

export const NEWEST_CNI_VERSION: CniVersion = '1.1.0';

export const isCniVersion = (text: string): text is CniVersion => CNI_VERSIONS.some((one) => one === text);

export const isAtLeast = (version: CniVersion, least: CniVersion): boolean =>
  CNI_VERSIONS.indexOf(version) >= CNI_VERSIONS.indexOf(least);
