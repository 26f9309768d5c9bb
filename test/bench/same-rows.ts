// Compares the rows of a generation on two sides, which must commit the same rows to be comparable.
import type { Database } from "bun:sqlite";
import { type LifeSide, withDatabase } from "./turns.ts";

type Row = Record<string, string | number | null>;

/** Texts may differ by this share of their length, because ids and URLs have different lengths. */
const LIKE = 0.1;

/** The shape of a value: names of JSON at any depth, the length of a text, otherwise the type. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, one]) => [name, shapeOf(one)]),
    );
  return value === null ? null : typeof value;
};
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const LONGEST_MS = 5_000;
const LOOK_MS = 2;

const TABLES: readonly [table: string, where: string][] = [
  ["generation", "seq = ?1"],
  ["generation_event", "generation_seq = ?1 ORDER BY version"],
  ["attempt", "generation_seq = ?1 ORDER BY attempt_no"],
  ["generation_request", "generation_seq = ?1"],
  ["attempt_answer", "generation_seq = ?1 ORDER BY seq"],
  ["attempt_request", "generation_seq = ?1 ORDER BY attempt_no"],
  ["transfer", "generation_seq = ?1 ORDER BY seq"],
];

const rowsOf = (db: Database, model: string): Map<string, Row[]> => {
  const newest = db.query<{ seq: number }, [string]>(
    "SELECT seq FROM generation WHERE model = ?1 AND status = 'succeeded' ORDER BY seq DESC",
  );
  const { seq } = newest.get(model) ?? {};
  if (seq === undefined) throw new Error(`${model} has no generation to compare`);
  return new Map(
    TABLES.map(([table, where]) => [table, db.query<Row, [number]>(`SELECT * FROM ${table} WHERE ${where}`).all(seq)]),
  );
};

/** The snapshot of a generation that is being polled; an ended one has none. */
const snapshotOf = async ({ dir, model, player, name }: LifeSide): Promise<string> => {
  player.begin();
  try {
    const endMs = performance.now() + LONGEST_MS;
    while (performance.now() < endMs) {
      const row = withDatabase(dir, (db) =>
        db
          .query<{ snapshot: string }, [string]>(
            "SELECT s.snapshot FROM snapshot s JOIN generation g ON g.seq = s.generation_seq WHERE g.model = ?1 AND s.state = 'running.polling'",
          )
          .get(model.id),
      );
      if (row) return row.snapshot;
      await Bun.sleep(LOOK_MS);
    }
    throw new Error(`${name} polls nothing`);
  } finally {
    await player.end();
  }
};

const differenceOf = (name: string, ours: Row[string] | undefined, other: Row[string] | undefined): string | null => {
  if (typeof ours !== "string" || typeof other !== "string")
    return typeof ours === typeof other && (ours === null) === (other === null) ? null : `${name}: ${ours} and ${other}`;
  const [a, b] = [parsed(ours), parsed(other)];
  if (typeof a === "object" && JSON.stringify(shapeOf(a)) !== JSON.stringify(shapeOf(b))) return `${name}: ${ours} and ${other}`;
  const longer = Math.max(ours.length, other.length);
  return longer - Math.min(ours.length, other.length) <= Math.max(LIKE * longer, 8) ? null : `${name}: ${ours} and ${other}`;
};

/** @throws unless the newest ended generations of both sides have the same rows, columns, JSON and snapshot shape. */
export const requireSameRows = async (one: LifeSide, another: LifeSide): Promise<void> => {
  const snapshots = [await snapshotOf(one), await snapshotOf(another)];
  const otherwise = differenceOf("snapshot", snapshots[0], snapshots[1]);
  if (otherwise !== null) throw new Error(`${one.name} and ${another.name} differ: ${otherwise}`);
  const [ours, others] = [one, another].map(({ dir, model }) => withDatabase(dir, (db) => rowsOf(db, model.id)));
  for (const [table] of TABLES) {
    const [mine, theirs] = [ours?.get(table) ?? [], others?.get(table) ?? []];
    if (mine.length !== theirs.length)
      throw new Error(`${one.name} wrote ${mine.length} rows of ${table} and ${another.name} ${theirs.length}`);
    for (const [at, row] of mine.entries())
      for (const name of Object.keys(row)) {
        const difference = differenceOf(name, row[name], theirs[at]?.[name]);
        if (difference !== null) throw new Error(`${one.name} and ${another.name} wrote other rows of ${table}: ${difference}`);
      }
  }
};
