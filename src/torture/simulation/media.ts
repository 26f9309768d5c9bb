// Media port of a simulated world, over the upstream's jobs and the stored files.
import type { EngineDeps } from "../../app/engine-types.ts";
import { judged } from "../../domain/delivery-check.ts";
import { isSpooled, SPOOLED, StorageRefused } from "../../files/port.ts";
import { lengthFault } from "../../media/pin-input.ts";
import type { CollectOutcome, Media, PinOutcome, PinTarget } from "../../media/port.ts";
import { type Clips, copyName, FRAME_MS, measureClips, shownBy } from "./clips.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import { delivered } from "./deliveries.ts";
import type { Faults } from "./faults.ts";
import { INLINE } from "./network.ts";
import type { NodeLife } from "./node-life.ts";
import type { Rng } from "./rng.ts";
import { RESULT_MS } from "./upload-contents.ts";
import type { Upstream, UpstreamJob } from "./upstream.ts";

/** The name of a job's file, which clients receive instead of a hash. */
export const fileNameOf = (provider: string, jobId: string): string =>
  Bun.CryptoHasher.hash("sha256", `${provider}/${jobId}`, "hex");

/** The stored files: one per generation, the last one written. They outlive every process. */
export type StoredFiles = Map<string, string>;
/** Data that outlives every process: files of results, copies of clips. */
export type DurableFiles = { kept: StoredFiles; clips: Clips };
/** The file name in a shared bucket contains its content's identity, so that no node overwrites another's file. */
export const sharedName = (generationId: string, file: string): string => `${generationId} ${file}`;

/** Providers receive pinned inputs as links of the service. */
export const PIN_INPUTS: EngineDeps["inputs"] = {
  giving: {
    choose: (_, files) => ({ forms: files.map(() => ({ as: "link" })) }),
    takesLinks: () => true,
    linkBase: () => "https://us.test",
  },
  signInput: (base, ref, n) => `${base}/inputs/${ref}/${n}?`,
  ...{ isTrusting: false, mostBytes: 1_000_000 },
  // In a world without uploads no input names a stored file.
  hasFile: async () => true,
  openInput: async () => undefined,
  ownFiles: { isOwn: () => false, find: async () => undefined, open: () => async () => undefined, keepMs: 0 },
};

export const createMedia = (
  deps: DurableFiles & {
    life: NodeLife;
    dice: Rng;
    faults: () => Faults;
    upstream: Upstream;
    isShared: boolean;
    /** Whether the file storage currently refuses all requests. */
    isUnavailable: () => boolean;
    /** A result from a response is stored. */
    inHand: (job: UpstreamJob) => void;
    situations: CoverageCounters;
  },
): Media => {
  const { life, dice, upstream, clips } = deps;
  const jobAt = (url: string): UpstreamJob | undefined => {
    const [, provider = "", jobId = ""] = /^(?:https|spool|inline):\/\/files\.test\/([^/]+)\/([^/]+)\//.exec(url) ?? [];
    return upstream.job(provider, jobId);
  };
  /** Longer than the duration of any world. */
  const endlessMs = 1e10;
  const pin = async (wanted: PinTarget, signal: AbortSignal): Promise<PinOutcome> => {
    const { generationId, n, url } = wanted;
    const faults = deps.faults();
    await life.cross("pin: before");
    const shown = shownBy(url);
    await life.sleep(shown.isStuck ? endlessMs : dice.between(5, 20_000) * dice.roll(), signal);
    if (signal.aborted) return { kind: "called-off" };
    const refuse = (why: string, mayPass: boolean): PinOutcome => {
      clips.refused.add(generationId);
      return { kind: "refused", why, mayPass };
    };
    if (dice.chance(faults.missingClip)) return refuse("its server answers 503", true);
    if (deps.isUnavailable() || dice.chance(faults.storageRefuses)) return { kind: "storage-refused", detail: "no space" };
    const ms = shown.fetchedMs;
    const why = lengthFault({ kind: "video", ms }, wanted);
    if (why !== undefined) return { kind: "refused", why, mayPass: false };
    const sha256 = Bun.CryptoHasher.hash("sha256", url, "hex");
    const copy = { n, sha256, bytes: 1000, mime: "video/mp4", ms };
    clips.copies.set(copyName(generationId, n), copy);
    await life.cross("pin: kept");
    return { kind: "pinned", copy };
  };
  return {
    measure: async (links, _, stored) => {
      const results = await Promise.all(links.map(({ url }) => stored?.get(url)?.({})));
      return links.flatMap((link, at) => {
        if (!stored?.has(link.url)) return measureClips([link]);
        return results[at] ? [{ ...link, ms: RESULT_MS, frameMs: FRAME_MS, width: 1280, height: 720, bytes: 1000 }] : [];
      });
    },
    pin,
    hasCopy: async (generationId, { n }) => {
      if (dice.chance(deps.faults().lostCopy)) {
        clips.copies.delete(copyName(generationId, n));
        clips.lostAtMs.set(generationId, life.world.nowMs());
      }
      return clips.copies.has(copyName(generationId, n));
    },
    keepInline: async (_, results) => {
      const [file] = results;
      if (!file?.url.startsWith(INLINE)) return [...results];
      if (deps.isUnavailable()) {
        deps.situations.count("instantHeld");
        throw new StorageRefused("the place of files is unavailable");
      }
      const job = jobAt(file.url);
      if (job) deps.inHand(job);
      deps.situations.count("instantResults");
      return [{ ...file, url: file.url.replace(INLINE, `${SPOOLED}//`) }];
    },
    collect: async ({ generationId, results, ordered }, signal): Promise<CollectOutcome> => {
      const faults = deps.faults();
      await life.cross("collect: before");
      await life.sleep(dice.between(5, 3_000), signal);
      const url = results[0]?.url ?? "";
      const job = jobAt(url);
      // A result from a response is on a disk. It is readable, or the disk is unavailable.
      const isRemote = !isSpooled(url);
      if (job?.fileIsLost) return { kind: "unreadable", detail: "not a picture", isUnusable: true };
      if (!job || (isRemote && dice.chance(faults.badFile))) return { kind: "unreadable", detail: "not a picture" };
      if (isRemote && dice.chance(faults.expiredFile)) return { kind: "expired", detail: "403" };
      if (deps.isUnavailable() || dice.chance(faults.storageRefuses)) return { kind: "storage-refused", detail: "no space" };
      if (signal.aborted) return { kind: "unreadable", detail: "given up" };
      const name = fileNameOf(job.provider, job.jobId);
      const output = delivered(job.kind, job.wrong, name);
      const { mismatch } = judged(ordered, output);
      if (mismatch) return { kind: "mismatched", mismatch };
      deps.kept.set(deps.isShared ? sharedName(generationId, name) : generationId, name);
      await life.cross("collect: kept");
      return { kind: "collected", output };
    },
  };
};
