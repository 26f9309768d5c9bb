// The form of an archive: segments of rows that are named by what is in them, and manifests that say which belong together, each naming the one before.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Value } from "../sql/asking.ts";

export type Row = Record<string, Value>;
export const KINDS = ["account", "movement", "generation", "attempt", "attempt_request", "journal", "claim"] as const;
export type Kind = (typeof KINDS)[number];

/** Where the chain of an account stands: its last movement, and what it made of the balance. `seq`: as `movement` numbers it; null: none yet. */
export type End = { seq: number | null; chainSeq: number; hash: string; availableCredits: number; heldCredits: number };
/** A row of kind `account`: the piece of its chain that is in an archive. */
export type AccountPiece = { seq: number; id: string; from: End; to: End };

/** Rows as lines of JSON, packed by gzip, in a file that has the SHA-256 of the lines for a name. */
export type Segment = { kind: Kind; sha256: string; bytes: number; rows: number };
export type Totals = { movements: number; generations: number; capturedCredits: number; releasedCredits: number };
export type Manifest = {
  form: 1;
  /** From 1 on. */
  n: number;
  /** The same for every copy of one service's database. */
  lineage: string;
  /** Everything in it is older. */
  beforeMs: number;
  madeAtMs: number;
  /** SHA-256 of the manifest before this one. */
  previous: string | null;
  segments: Segment[];
  totals: Totals;
};

/** An archive cannot be made or read; one line that says why. */
export class ArchiveFault extends Error {
  override readonly name = "ArchiveFault";
}

export const SEGMENTS = "segments";
export const manifestName = (n: number): string => `manifest-${String(n).padStart(6, "0")}.json`;
export const segmentName = ({ sha256 }: Pick<Segment, "sha256">): string => join(SEGMENTS, `${sha256}.ndjson.gz`);
export const sha256Of = (bytes: string | Uint8Array): string => Bun.SHA256.hash(bytes, "hex");

const isManifest = (value: unknown): value is Manifest =>
  typeof value === "object" && value !== null && "form" in value && value.form === 1 && "segments" in value && "totals" in value;

export type Listed = { manifest: Manifest; sha256: string };
/** The manifests of a directory in their order; none where there is no directory. @throws ArchiveFault for one that cannot be read. */
export const manifestsIn = (dir: string): Listed[] => {
  if (!existsSync(dir)) return [];
  const names = readdirSync(dir).filter((name) => /^manifest-\d{6}\.json$/.test(name));
  return names.sort().map((name) => {
    const text = readFileSync(join(dir, name), "utf8");
    let manifest: unknown;
    try {
      manifest = JSON.parse(text);
    } catch {
      throw new ArchiveFault(`${join(dir, name)} is not JSON: it was cut off or changed`);
    }
    if (!isManifest(manifest)) throw new ArchiveFault(`${join(dir, name)} is not the manifest of an archive of this release`);
    return { manifest, sha256: sha256Of(text) };
  });
};

/** The rows of a segment. @throws ArchiveFault when it is not there or not what its name says. */
export const rowsOfSegment = <R = Row>(dir: string, segment: Segment): R[] => {
  const path = join(dir, segmentName(segment));
  if (!existsSync(path)) throw new ArchiveFault(`${path} is not there`);
  let lines: Uint8Array;
  try {
    lines = Bun.gunzipSync(readFileSync(path));
  } catch {
    throw new ArchiveFault(`${path} cannot be unpacked: it was cut off or changed`);
  }
  if (sha256Of(lines) !== segment.sha256) throw new ArchiveFault(`${path} does not have the content that its name says`);
  const texts = new TextDecoder().decode(lines).split("\n");
  if (texts.pop() !== "" || texts.length !== segment.rows)
    throw new ArchiveFault(`${path} has ${texts.length} rows, and the manifest says ${segment.rows}`);
  return texts.map((text) => JSON.parse(text) as R);
};

/** All rows of a kind, segment by segment. */
export const rowsIn = function* <R = Row>(dir: string, { segments }: Manifest, kind: Kind): Generator<R> {
  for (const segment of segments) if (segment.kind === kind) yield* rowsOfSegment<R>(dir, segment);
};
