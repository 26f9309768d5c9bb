// Archive format: content-addressed segments of rows, and a chain of manifests.
//
// A manifest lists its segments and names the previous manifest.
import { gunzipSync } from "node:zlib";
import { FORMER_POSTGRES_TABLES, FORMER_TABLES } from "../sql/pre-release-schema.ts";
import type { Value } from "../sql/sql-program.ts";
import type { ArchiveStorage } from "./archive-storage.ts";

export type Row = Record<string, Value>;
/** Format version of a manifest that is written. */
export const FORM = 2;
export const KINDS = [
  "account",
  "transfer",
  "generation",
  "attempt",
  "attempt_request",
  "generation_event",
  "ownership_change",
] as const;
export type Kind = (typeof KINDS)[number];

/**
 * The end of an account's chain: its last transfer and the balance after it. `seq`: as numbered by `transfer_log`; null before the
 * first.
 */
export type End = { seq: number | null; chainSeq: number; hash: string; availableCredits: number; heldCredits: number };
/** A row of kind `account`: the part of its chain in one archive. */
export type AccountChainRange = { seq: number; id: string; from: End; to: End };

/** Rows as lines of JSON, compressed with gzip, in a file named by the SHA-256 of the lines. */
export type Segment = { kind: Kind; sha256: string; bytes: number; rows: number };
export type Totals = { transfers: number; generations: number; capturedCredits: number; releasedCredits: number };
export type Manifest = {
  /** 1: written by a build before the first release, with the former names of kinds and columns. */
  form: 1 | typeof FORM;
  /** From 1. */
  n: number;
  /** Identical for every copy of one service's database. */
  lineage: string;
  /** All its rows are older. */
  beforeMs: number;
  madeAtMs: number;
  /** SHA-256 of the previous manifest. */
  previous: string | null;
  segments: Segment[];
  totals: Totals;
};

/** An archive cannot be created or read; one line with the reason. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
}

export const SEGMENTS = "segments";
export const manifestName = (n: number): string => `manifest-${String(n).padStart(6, "0")}.json`;
export const segmentName = ({ sha256 }: Pick<Segment, "sha256">): string => `${SEGMENTS}/${sha256}.ndjson.gz`;
export const sha256Of = (bytes: string | Uint8Array): string => Bun.SHA256.hash(bytes, "hex");

type FormerManifest = Omit<Manifest, "form" | "segments" | "totals"> & {
  form: 1;
  segments: (Omit<Segment, "kind"> & { kind: string })[];
  totals: Omit<Totals, "transfers"> & { movements: number };
};
const isManifest = (value: unknown): value is (Manifest & { form: typeof FORM }) | FormerManifest =>
  typeof value === "object" &&
  value !== null &&
  "form" in value &&
  (value.form === 1 || value.form === FORM) &&
  "segments" in value &&
  "totals" in value;

/** The former names of kinds, by the present ones. */
const FORMER_KINDS: Readonly<Partial<Record<Kind, string>>> = {
  transfer: "movement",
  generation_event: FORMER_TABLES.generation_event?.name ?? "",
  ownership_change: FORMER_POSTGRES_TABLES.ownership_change?.name ?? "",
};
const kindOf = (former: string): Kind =>
  KINDS.find((kind) => (FORMER_KINDS[kind] ?? kind) === former) ??
  (() => {
    throw new ArchiveError(`the archive has a segment of the unknown kind ${former}`);
  })();

/** The manifest with the present names. */
const present = (manifest: (Manifest & { form: typeof FORM }) | FormerManifest): Manifest => {
  if (manifest.form === FORM) return manifest;
  const { movements: transfers, ...totals } = manifest.totals;
  return {
    ...manifest,
    segments: manifest.segments.map((segment) => ({ ...segment, kind: kindOf(segment.kind) })),
    totals: { transfers, ...totals },
  };
};

/** Names the columns of a former row as at present. */
const presentRow = (kind: Kind): ((row: Row) => Row) => {
  const { columns = {} } = FORMER_POSTGRES_TABLES[kind] ?? {};
  const names = new Map(Object.entries(columns).map(([name, former]) => [former, name]));
  return (row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [names.get(name) ?? name, value]));
};

/** A manifest has an entry for each segment; this size is enough for half a million. */
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;
/** The maximum size that gzip produces from incompressible input. */
const packedAtMost = (bytes: number): number => bytes + Math.ceil(bytes / 1000) + 1000;

export type Listed = { manifest: Manifest; sha256: string };
/** The manifests of an archive in order; empty if there is no archive. @throws ArchiveError if one is unreadable. */
export const manifestsIn = async (archiveStorage: ArchiveStorage): Promise<Listed[]> => {
  const names = (await archiveStorage.list()).filter((name) => /^manifest-\d{6}\.json$/.test(name));
  const all: Listed[] = [];
  for (const name of names.sort()) {
    const bytes = await archiveStorage.read(name, MAX_MANIFEST_BYTES);
    if (bytes === undefined) throw new ArchiveError(`${archiveStorage.describe(name)} is not there`);
    if (bytes === "larger") throw new ArchiveError(`${archiveStorage.describe(name)} is larger than a manifest can be`);
    let manifest: unknown;
    try {
      manifest = JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      throw new ArchiveError(`${archiveStorage.describe(name)} is not JSON: it was cut off or changed`);
    }
    if (!isManifest(manifest))
      throw new ArchiveError(`${archiveStorage.describe(name)} is not the manifest of an archive of this release`);
    all.push({ manifest: present(manifest), sha256: sha256Of(bytes) });
  }
  return all;
};

/** The uncompressed lines of a segment. @throws ArchiveError if it is missing or its content does not match its name. */
export const linesOfSegment = async (archiveStorage: ArchiveStorage, segment: Segment): Promise<Uint8Array> => {
  const reported = archiveStorage.describe(segmentName(segment));
  const packed = await archiveStorage.read(segmentName(segment), packedAtMost(segment.bytes));
  if (packed === undefined) throw new ArchiveError(`${reported} is not there`);
  if (packed === "larger") throw new ArchiveError(`${reported} is larger than its content can be`);
  let lines: Uint8Array;
  try {
    // Bounds the output against a decompression bomb.
    lines = gunzipSync(packed, { maxOutputLength: Math.max(1, segment.bytes) });
  } catch {
    throw new ArchiveError(`${reported} cannot be unpacked: it was cut off or changed`);
  }
  if (sha256Of(lines) !== segment.sha256) throw new ArchiveError(`${reported} does not have the content that its name says`);
  return lines;
};

const NEWLINE = 10;
/** Streams the rows of a segment. @throws ArchiveError if it is missing or its content does not match its name. */
export const rowsOfSegment = async function* <R = Row>(
  archiveStorage: ArchiveStorage,
  segment: Segment,
): AsyncGenerator<R, undefined> {
  const lines = await linesOfSegment(archiveStorage, segment);
  let rows = 0;
  for (let at = lines.indexOf(NEWLINE); at >= 0; at = lines.indexOf(NEWLINE, at + 1)) rows += 1;
  if (lines.at(-1) !== NEWLINE || rows !== segment.rows)
    throw new ArchiveError(
      `${archiveStorage.describe(segmentName(segment))} has ${rows} rows, and the manifest says ${segment.rows}`,
    );
  const decoder = new TextDecoder();
  for (let from = 0; from < lines.length; ) {
    const end = lines.indexOf(NEWLINE, from);
    yield JSON.parse(decoder.decode(lines.subarray(from, end))) as R;
    from = end + 1;
  }
};

/**
 * Bytes decompressed since the last garbage collection. They are outside the heap, so the collector does not start because of
 * them.
 */
let looseBytes = 0;
const MAX_LOOSE_BYTES = 32 * 1024 * 1024;

/** Streams all rows of a kind, segment by segment. */
export const rowsIn = async function* <R = Row>(
  archiveStorage: ArchiveStorage,
  { form, segments }: Manifest,
  kind: Kind,
): AsyncGenerator<R, undefined> {
  const rename = form === FORM ? undefined : presentRow(kind);
  for (const segment of segments) {
    if (segment.kind !== kind) continue;
    if (rename) for await (const row of rowsOfSegment(archiveStorage, segment)) yield rename(row) as R;
    else yield* rowsOfSegment<R>(archiveStorage, segment);
    looseBytes += segment.bytes;
    if (looseBytes < MAX_LOOSE_BYTES) continue;
    looseBytes = 0;
    Bun.gc(true);
  }
};
