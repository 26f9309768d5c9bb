// Makes an archive: segments first, each durable before it has its name, and the manifest last, so that what was interrupted counts for nothing.
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { syncPath } from "../sqlite/sync-path.ts";
import { type BooksPlace, withBooks } from "./books.ts";
import {
  type AccountPiece,
  ArchiveFault,
  type End,
  KINDS,
  type Kind,
  type Manifest,
  manifestName,
  manifestsIn,
  type Row,
  rowsIn,
  SEGMENTS,
  type Segment,
  segmentName,
  sha256Of,
  type Totals,
} from "./form.ts";
import { gather } from "./gather.ts";

const SEGMENT_ROWS = 50_000;
const SEGMENT_CHARS = 32_000_000;
const PART = ".part";

const writeDurably = (path: string, bytes: Uint8Array | string): void => {
  const file = openSync(path, "w", 0o600);
  try {
    const all = Buffer.from(bytes);
    for (let at = 0; at < all.length; ) at += writeSync(file, all, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
};

/** Collects lines of each kind and writes a segment whenever there are enough. The same rows are the same segments at every try. */
const openSegments = (dir: string) => {
  const segments: Segment[] = [];
  const open = new Map<Kind, { lines: string[]; chars: number }>();
  const flush = (kind: Kind): void => {
    const piece = open.get(kind);
    if (!piece || piece.lines.length === 0) return;
    open.delete(kind);
    const text = `${piece.lines.join("\n")}\n`;
    const segment = { kind, sha256: sha256Of(text), bytes: Buffer.byteLength(text), rows: piece.lines.length };
    const path = join(dir, segmentName(segment));
    writeDurably(`${path}${PART}`, Bun.gzipSync(text));
    renameSync(`${path}${PART}`, path);
    segments.push(segment);
  };
  return {
    put: (kind: Kind, row: Row): void => {
      const piece = open.get(kind) ?? { lines: [], chars: 0 };
      open.set(kind, piece);
      const line = JSON.stringify(row);
      piece.lines.push(line);
      piece.chars += line.length;
      if (piece.lines.length >= SEGMENT_ROWS || piece.chars >= SEGMENT_CHARS) flush(kind);
    },
    end: (): Segment[] => {
      for (const kind of KINDS) flush(kind);
      return segments;
    },
  };
};

/** Where each account stands after all that is archived. */
export const endsOf = (dir: string, manifests: readonly Manifest[]): Map<number, End> => {
  const ends = new Map<number, End>();
  for (const manifest of manifests) for (const { seq, to } of rowsIn<AccountPiece>(dir, manifest, "account")) ends.set(seq, to);
  return ends;
};

/** A manifest has its name in one step, and only if nobody had it. */
const keepManifest = (dir: string, manifest: Manifest): void => {
  const path = join(dir, manifestName(manifest.n));
  const part = `${path}.${process.pid}${PART}`;
  writeDurably(part, `${JSON.stringify(manifest, null, 2)}\n`);
  try {
    linkSync(part, path);
  } catch (fault) {
    if (existsSync(path)) throw new ArchiveFault(`${path} has been made meanwhile: another command archives into this directory`);
    throw fault;
  } finally {
    rmSync(part, { force: true });
  }
  syncPath(dir);
};

const prepare = (dir: string): void => {
  mkdirSync(join(dir, SEGMENTS), { recursive: true, mode: 0o700 });
  // What an interrupted run was writing.
  for (const name of readdirSync(join(dir, SEGMENTS)))
    if (name.endsWith(PART)) rmSync(join(dir, SEGMENTS, name), { force: true });
};

export type Archived = { manifest: Manifest | null; dir: string };

/**
 * Adds to the archive in a directory what is older and settled and not in it yet; nothing is taken out of the books.
 * @returns no manifest where there is nothing to add. @throws ArchiveFault
 */
export const archive = async (place: BooksPlace, dir: string, beforeMs: number, madeAtMs: number): Promise<Archived> =>
  withBooks(place, async (books) => {
    const before = manifestsIn(dir);
    const last = before.at(-1);
    if (last && last.manifest.lineage !== books.lineage)
      throw new ArchiveFault(`the archive in ${dir} is of another service's books`);
    prepare(dir);
    const segments = openSegments(dir);
    const totals: Totals = { movements: 0, generations: 0, capturedCredits: 0, releasedCredits: 0 };
    await gather(
      books,
      beforeMs,
      endsOf(
        dir,
        before.map(({ manifest }) => manifest),
      ),
      (kind, row) => {
        segments.put(kind, row);
        if (kind === "generation") totals.generations += 1;
        if (kind !== "movement") return;
        totals.movements += 1;
        if (row.kind === "capture") totals.capturedCredits += Number(row.credits);
        if (row.kind === "release") totals.releasedCredits += Number(row.credits);
      },
    );
    const made = segments.end();
    if (totals.movements === 0) return { manifest: null, dir };
    syncPath(join(dir, SEGMENTS));
    const manifest: Manifest = {
      ...{ form: 1, n: before.length + 1, lineage: books.lineage, beforeMs, madeAtMs, previous: last?.sha256 ?? null },
      ...{ segments: made, totals },
    };
    keepManifest(dir, manifest);
    return { manifest, dir };
  });
