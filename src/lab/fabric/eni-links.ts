// The life of ENI links: each shows up in its node some time after its attachment, at times under a passing name.

import type { AttachmentId, EniId, InstanceId } from '../../domain/ids.ts';
import type { Clock, Timer } from '../../ports/clock.ts';
import { type Random, randomInt } from '../../ports/random.ts';
import { nodeLink, routerLink, temporaryNodeLink } from './namespace-names.ts';
import { isAlive, type VpcView } from './vpc-truth.ts';

/** How late, and how, a secondary ENI's link appears. The primary's is there when the node starts. */
export interface LinkLife {
  readonly delayMinMs: number;
  readonly delayMaxMs: number;
  /** Of 100 links, how many appear under a passing name and are renamed once, as udev does. */
  readonly renamedPercent: number;
  readonly renameDelayMs: number;
}

export const LIFELIKE_LINKS: LinkLife = {
  delayMinMs: 200,
  delayMaxMs: 1_000,
  renamedPercent: 30,
  renameDelayMs: 60,
};

export interface EniLink {
  readonly attachmentId: AttachmentId;
  readonly eniId: EniId;
  readonly instanceId: InstanceId;
  readonly mac: string;
  readonly isPrimary: boolean;
  readonly routerLink: string;
  /** Its name in the node at first. */
  readonly appearsAs: string;
  /** Its name in the node in the end. */
  readonly nodeLink: string;
}

export interface EniLinks {
  /** Takes note of the truth; answers the links that have to be plugged in now. */
  observe(view: VpcView): readonly EniLink[];
  /** Links whose passing name has to go now; each is answered once. */
  takeRenames(): readonly EniLink[];
  /** Tells that the link is there: the time until its renaming starts. */
  appeared(link: EniLink): void;
  close(): void;
}

export interface EniLinksOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly life: LinkLife;
  /** The time of a link has come: something is to be done. */
  readonly onDue: () => void;
}

interface Entry {
  readonly link: EniLink;
  isDue: boolean;
  timer?: Timer;
}

export function createEniLinks({ clock, random, life, onDue }: EniLinksOptions): EniLinks {
  const entries = new Map<AttachmentId, Entry>();
  let renames: EniLink[] = [];

  const add = (link: EniLink): void => {
    const entry: Entry = { link, isDue: link.isPrimary };
    entries.set(link.attachmentId, entry);
    if (entry.isDue) return;
    const delayMs = life.delayMinMs + randomInt(random, life.delayMaxMs - life.delayMinMs + 1);
    entry.timer = clock.timer(delayMs, `link of ${link.eniId}`, () => {
      entry.isDue = true;
      onDue();
    });
  };
  const drop = (attachmentId: AttachmentId): void => {
    entries.get(attachmentId)?.timer?.cancel();
    entries.delete(attachmentId);
    renames = renames.filter((link) => link.attachmentId !== attachmentId);
  };

  return {
    observe: (view) => {
      const isRenamed = (): boolean => randomInt(random, 100) < life.renamedPercent;
      const attached = attachedLinks(view);
      for (const attachmentId of entries.keys()) if (!attached.has(attachmentId)) drop(attachmentId);
      for (const { temporaryName, ...link } of attached.values()) {
        if (entries.has(link.attachmentId)) continue;
        const appearsAs = !link.isPrimary && isRenamed() ? temporaryName : link.nodeLink;
        add({ ...link, appearsAs });
      }
      return [...entries.values()].filter(({ isDue }) => isDue).map(({ link }) => link);
    },
    takeRenames: () => {
      const taken = renames;
      renames = [];
      return taken;
    },
    appeared: (link) => {
      const entry = entries.get(link.attachmentId);
      if (entry === undefined || link.appearsAs === link.nodeLink) return;
      entry.timer = clock.timer(life.renameDelayMs, `rename of ${link.appearsAs}`, () => {
        renames.push(link);
        onDue();
      });
    },
    close: () => {
      for (const attachmentId of entries.keys()) drop(attachmentId);
    },
  };
}

interface AttachedLink extends Omit<EniLink, 'appearsAs'> {
  readonly temporaryName: string;
}

/** Attachments that are complete, to machines that are there. */
function attachedLinks(view: VpcView): ReadonlyMap<AttachmentId, AttachedLink> {
  const alive = new Set(view.instances.filter(isAlive).map(({ instanceId }) => instanceId));
  const links = new Map<AttachmentId, AttachedLink>();
  for (const { eniId, mac, attachment } of view.enis) {
    if (attachment?.status !== 'attached' || !alive.has(attachment.instanceId)) continue;
    links.set(attachment.attachmentId, {
      attachmentId: attachment.attachmentId,
      eniId,
      instanceId: attachment.instanceId,
      mac,
      isPrimary: attachment.deviceIndex === 0 && attachment.networkCardIndex === 0,
      routerLink: routerLink(eniId),
      nodeLink: nodeLink(attachment),
      temporaryName: temporaryNodeLink(attachment),
    });
  }
  return links;
}
