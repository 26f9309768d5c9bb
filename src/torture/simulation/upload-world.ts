// Uploads of a simulated world: stored bytes, the record of files, and what is left to delete at the end.
import { createSignedLinks, type Links } from "../../files/signed-links.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import { createFileOracle, type FileOracle } from "./file-oracle.ts";
import type { LeftWork } from "./long-pauses.ts";
import { type StoredFiles, sharedName } from "./media.ts";
import type { Rng } from "./rng.ts";
import { type StoredBytes, sha256Of } from "./stored-uploads.ts";
import { clipMs, RESULT_MS } from "./upload-contents.ts";
import type { PlannedWork } from "./workload.ts";

/** A stored file that an input names: an uploaded file, or a result. */
type Place = { fileSeq: number | null; storageId: string; sha256: string };
export type UploadWorld = {
  stored: StoredBytes;
  oracle: FileOracle;
  links: Links;
  limits: { upload_bytes: number; upload_quota_bytes: number; upload_files: number; upload_retention_s: number };
  /** Whether the bytes of a stored file are complete. */
  isStored: (place: Place) => boolean;
  /** The length of the stored clip behind the link of an attempt's input; undefined: the link opens nothing. */
  openedMs: (link: string) => number | undefined;
};

/** This share of the worlds uploads files. */
const UPLOAD_WORLDS = 0.25;
/** Share of their submissions without a clip that name a stored file. */
const TAKES_FILES = 0.6;
/** Age of a reservation that is given up, and the time until the next sweep. */
const LEFT_MS = 3_600_000;
const SWEEP_MS = 60_000;

/** The uploads of a seed; null for most of them. */
export const drawUploads = (
  dice: Rng,
  tasks: readonly PlannedWork[],
  deps: { nowMs: () => number; kept: StoredFiles; situations: CoverageCounters; fault: (text: string) => void },
): UploadWorld | null => {
  if (!dice.chance(UPLOAD_WORLDS)) return null;
  for (const { planned } of tasks)
    if (planned.clip === null && planned.prompt !== "the same" && dice.chance(TAKES_FILES))
      planned.stored = dice.pick(["file", "file", "result"] as const);
  const limits = {
    upload_bytes: 100_000,
    upload_quota_bytes: dice.pick([2_000, 100_000, 100_000]),
    upload_retention_s: dice.pick([120, 900, 604_800]),
    upload_files: dice.pick([2, 1_000, 1_000, 1_000]),
  };
  const { nowMs, kept, situations, fault } = deps;
  const stored: StoredBytes = new Map();
  const oracle = createFileOracle({
    nowMs,
    stored,
    quotaBytes: limits.upload_quota_bytes,
    maxFiles: limits.upload_files,
    situations,
    fault,
  });
  const links = createSignedLinks({
    secretHex: "09".repeat(32),
    baseUrl: () => "https://us.test",
    validS: 3600,
    clock: { nowMs },
  });
  const isStored: UploadWorld["isStored"] = ({ fileSeq, storageId, sha256 }) => {
    if (fileSeq === null) return (kept.get(sharedName(storageId, sha256)) ?? kept.get(storageId)) === sha256;
    const bytes = stored.get(storageId);
    return bytes !== undefined && sha256Of(bytes) === sha256;
  };
  const openedMs = (link: string): number | undefined => {
    const [, body = "", n = ""] = /^https:\/\/us\.test\/inputs\/(.+)-\d+\/(\d+)\?/.exec(link) ?? [];
    const input = oracle.input(`gen_${body}`, Number(n));
    if (!input) return undefined;
    const { file, isOpen } = input;
    if (isStored(file)) return file.fileSeq === null ? RESULT_MS : clipMs(stored.get(file.storageId) ?? new Uint8Array());
    if (isOpen) fault(`gen_${body}: a provider opens its stored input, whose bytes are missing`);
    return undefined;
  };
  return { stored, oracle, links, limits, isStored, openedMs };
};

/** The reservations and the retired blobs that a sweep still has to delete. */
export const leftUploads =
  ({ oracle }: Pick<UploadWorld, "oracle">, nowMs: () => number): LeftWork =>
  async () => {
    const waits = oracle
      .blobs()
      .flatMap(({ life, begunAtMs }) =>
        life === "stored" ? [] : [life === "retired" ? 0 : begunAtMs + LEFT_MS + SWEEP_MS - nowMs()],
      );
    return waits.length === 0 ? null : Math.max(0, ...waits);
  };
