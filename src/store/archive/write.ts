// Writes an archive: durable segments first, the manifest last.
//
// An interrupted run leaves no manifest, so its segments have no effect.

import type { ArchiveStorage } from "./archive-storage.ts";
import {
  type AccountChainRange,
  ArchiveError,
  type End,
  FORM,
  KINDS,
  type Kind,
  linesOfSegment,
  type Manifest,
  manifestName,
  manifestsIn,
  type Row,
  rowsIn,
  type Segment,
  segmentName,
  sha256Of,
  type Totals,
} from "./format.ts";
import { collectRows } from "./select-rows.ts";
import { type ArchiveSourceLocation, withArchiveSource } from "./source.ts";

const SEGMENT_ROWS = 50_000;
const SEGMENT_CHARS = 32_000_000;

/** @throws ArchiveError if the name has other content. */
const keepSegment = async (archiveStorage: ArchiveStorage, segment: Segment, text: string): Promise<void> => {
  const name = segmentName(segment);
  if (await archiveStorage.keep(name, Bun.gzipSync(text))) return;
  try {
    // The same lines compressed by another release are accepted.
    await linesOfSegment(archiveStorage, segment);
  } catch (fault) {
    if (!(fault instanceof ArchiveError)) throw fault;
    throw new ArchiveError(
      `${fault.message}; nothing was written over it: look at it, delete it, and run the same command again`,
    );
  }
};

/** Collects rows by kind and writes full segments. The same rows produce the same segments in every run. */
const openSegments = (archiveStorage: ArchiveStorage) => {
  const segments: Segment[] = [];
  const open = new Map<Kind, { lines: string[]; chars: number }>();
  const flush = async (kind: Kind): Promise<void> => {
    const piece = open.get(kind);
    if (!piece || piece.lines.length === 0) return;
    open.delete(kind);
    const text = `${piece.lines.join("\n")}\n`;
    const segment = { kind, sha256: sha256Of(text), bytes: Buffer.byteLength(text), rows: piece.lines.length };
    await keepSegment(archiveStorage, segment, text);
    segments.push(segment);
  };
  let last: Kind | undefined;
  return {
    put: (kind: Kind, row: Row): Promise<void> | undefined => {
      // Rows arrive kind by kind, so the rest of the previous kind is written first and leaves memory.
      const over = last === kind ? undefined : last;
      last = kind;
      const piece = open.get(kind) ?? { lines: [], chars: 0 };
      open.set(kind, piece);
      const line = JSON.stringify(row);
      piece.lines.push(line);
      piece.chars += line.length;
      if (over !== undefined) return flush(over);
      return piece.lines.length >= SEGMENT_ROWS || piece.chars >= SEGMENT_CHARS ? flush(kind) : undefined;
    },
    end: async (): Promise<Segment[]> => {
      for (const kind of KINDS) await flush(kind);
      return segments;
    },
  };
};

/** The end of each account's chain after all manifests. */
const endsOf = async (archiveStorage: ArchiveStorage, manifests: readonly Manifest[]): Promise<Map<number, End>> => {
  const ends = new Map<number, End>();
  for (const manifest of manifests)
    for await (const { seq, to } of rowsIn<AccountChainRange>(archiveStorage, manifest, "account")) ends.set(seq, to);
  return ends;
};

/** Creates the manifest atomically, if its name is free. */
const keepManifest = async (archiveStorage: ArchiveStorage, manifest: Manifest): Promise<void> => {
  const name = manifestName(manifest.n);
  if (await archiveStorage.complete(name, new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`))) return;
  throw new ArchiveError(
    `${archiveStorage.describe(name)} has been made meanwhile: another command archives there; run this one again`,
  );
};

/**
 * Adds old and settled rows to an archive that it does not contain yet. The store is not changed.
 * @returns null if there is nothing to add. @throws ArchiveError
 */
export const archive = async (
  place: ArchiveSourceLocation,
  archiveStorage: ArchiveStorage,
  beforeMs: number,
  madeAtMs: number,
): Promise<{ manifest: Manifest | null }> =>
  withArchiveSource(place, async (source) => {
    const before = await manifestsIn(archiveStorage);
    const last = before.at(-1);
    if (last && last.manifest.lineage !== source.lineage)
      throw new ArchiveError(`the archive in ${archiveStorage.describe()} belongs to the database of another service`);
    const segments = openSegments(archiveStorage);
    const totals: Totals = { transfers: 0, generations: 0, capturedCredits: 0, releasedCredits: 0 };
    const manifests = before.map(({ manifest }) => manifest);
    await collectRows(source, beforeMs, await endsOf(archiveStorage, manifests), (kind, row) => {
      if (kind === "generation") totals.generations += 1;
      if (kind === "transfer") {
        totals.transfers += 1;
        if (row.kind === "capture") totals.capturedCredits += Number(row.credits);
        if (row.kind === "release") totals.releasedCredits += Number(row.credits);
      }
      return segments.put(kind, row);
    });
    const made = await segments.end();
    if (totals.transfers === 0) return { manifest: null };
    const manifest: Manifest = {
      ...{ form: FORM, n: before.length + 1, lineage: source.lineage, beforeMs, madeAtMs, previous: last?.sha256 ?? null },
      ...{ segments: made, totals },
    };
    await keepManifest(archiveStorage, manifest);
    return { manifest };
  });
