// Backups under load: each contains the state of the database at one moment, proved against the later database.
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { manifestOf } from "../../src/backup/check.ts";
import type { CreatedBackup } from "../../src/backup/create.ts";
import { makeBackup } from "../../src/backup/worker-client.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import type { Harness } from "../harness.ts";
import { askFor, openOn } from "./fixture.ts";

afterAll(dropDirs, 60_000);

const CALLERS = 6;
const BACKUPS = 4;
const SUBMITTED_MEANWHILE = 30;

type Row = Record<string, number | string | null>;
const rowsIn = (path: string, sql: string): Row[] => {
  const db = new Database(path, { readonly: true });
  const rows = db.query<Row, []>(sql).all();
  db.close();
  return rows;
};
const numberIn = (path: string, sql: string): number => Number(Object.values(rowsIn(path, sql)[0] ?? {})[0] ?? 0);

/** At most so many submissions between two calls, so that a slow machine has no more to copy than a fast one. */
const MOST_MEANWHILE = 60;

/** Submissions, top-ups and adjustments, in sequence in each of several callers, until `stop`. */
const load = (harness: Harness) => {
  let isOver = false;
  let submitted = 0;
  let allowed = MOST_MEANWHILE;
  let more = Promise.withResolvers<void>();
  const allowMore = () => {
    allowed = submitted + MOST_MEANWHILE;
    more.resolve();
    more = Promise.withResolvers();
  };
  const call = async (caller: number) => {
    const tenant = await harness.newTenant(50_000);
    for (let n = 0; !isOver; n += 1) {
      while (submitted >= allowed && !isOver) await more.promise;
      const body = { model: "sim-image-1", input: { prompt: `load ${caller} ${n}` } };
      const { status } = await harness.request("POST", "/v1/generations", { key: tenant.key, body });
      // A slow disk makes the service return 503 for a moment; the callers retry, as any client does.
      if (status === 503) continue;
      expect(status).toBe(202);
      submitted += 1;
      const atMs = harness.clock.nowMs();
      const { accountSeq } = tenant;
      await harness.components.post({
        mutation: "credit",
        accountSeq,
        kind: "topup",
        credits: 100 + n,
        note: "",
        reference: `${caller}-${n}`,
        atMs,
      });
      if (n % 3 === 0)
        await harness.components.post({
          mutation: "credit",
          accountSeq,
          kind: "adjust",
          credits: -7,
          note: "",
          reference: `a${caller}-${n}`,
          atMs,
        });
    }
  };
  const calls = Array.from({ length: CALLERS }, (_, caller) => call(caller));
  return {
    /** Returns the number of submissions so far, and permits some more. */
    submitted: () => {
      allowMore();
      return submitted;
    },
    stop: async () => {
      isOver = true;
      allowMore();
      await Promise.all(calls);
    },
  };
};

/**
 * A backup contains the state of the database at one moment: everything up to its last transfer and nothing after it, in
 * every table. The ledger numbers transfers in commit order, and each transfer names the newest generation at its time, so
 * rows of different tables can be ordered.
 */
const isOneMoment = (copy: string, books: string, { rows, ledger }: ReturnType<typeof manifestOf>): void => {
  const lastTransfer = numberIn(copy, "SELECT max(seq) FROM transfer");
  const lastGeneration = numberIn(copy, "SELECT max(seq) FROM generation");
  expect(numberIn(books, `SELECT count(*) FROM transfer WHERE seq <= ${lastTransfer}`)).toBe(rows.transfer ?? -1);
  expect(numberIn(books, `SELECT count(*) FROM generation WHERE seq <= ${lastGeneration}`)).toBe(rows.generation ?? -1);
  expect(numberIn(books, `SELECT count(*) FROM balance_adjustment WHERE transfer_seq <= ${lastTransfer}`)).toBe(
    rows.balance_adjustment ?? -1,
  );
  // The last generation lies between the last transfer of the backup and the first one after it.
  expect(lastGeneration).toBeGreaterThanOrEqual(
    numberIn(books, `SELECT after_generation_seq FROM transfer WHERE seq = ${lastTransfer}`),
  );
  const behind = numberIn(
    books,
    `SELECT after_generation_seq FROM transfer WHERE seq = (SELECT min(seq) FROM transfer WHERE seq > ${lastTransfer})`,
  );
  expect(behind).toBeGreaterThanOrEqual(lastGeneration);
  // The sums, recomputed from the later database up to that transfer.
  const upTo = `FROM transfer WHERE seq <= ${lastTransfer}`;
  const moved = rowsIn(
    books,
    `SELECT kind, sum(iif(from_side = 'available' AND kind = 'adjust', -credits, credits)) AS credits ${upTo} GROUP BY kind`,
  );
  const held = numberIn(books, `SELECT sum(reserved_credits) FROM generation WHERE seq <= ${lastGeneration}`);
  expect(ledger.moved).toEqual({
    ...Object.fromEntries(moved.map(({ kind, credits }) => [String(kind), Number(credits)])),
    hold: held,
  });
  const { topup = 0, adjust = 0, capture = 0, release = 0, hold = 0 } = ledger.moved;
  expect([ledger.available, ledger.held, ledger.charged]).toEqual([
    topup + adjust - hold + release,
    hold - capture - release,
    capture,
  ]);
  // Exactly the ended generations are settled, and each list of events is a prefix of the later one.
  const ended = "SELECT id FROM generation WHERE completed_at_ms IS NOT NULL ORDER BY seq";
  const settled = `SELECT id FROM generation WHERE seq IN (SELECT generation_seq ${upTo}) ORDER BY seq`;
  expect(rowsIn(copy, ended)).toEqual(rowsIn(books, settled));
  const lines = rowsIn(
    copy,
    "SELECT generation_seq, version, at_ms, state_after, event FROM generation_event ORDER BY generation_seq, version",
  );
  const became = new Map(
    rowsIn(books, "SELECT generation_seq, version, at_ms, state_after, event FROM generation_event").map((row) => [
      `${row.generation_seq} ${row.version}`,
      row,
    ]),
  );
  for (const line of lines) expect(became.get(`${line.generation_seq} ${line.version}`)).toEqual(line);
  // The chain of each account ends where its balance says, with the hash of the later database.
  const ends =
    "SELECT b.account_seq, b.last_transfer_no, m.hash FROM balance b JOIN transfer_log m ON m.seq = b.last_transfer_seq ORDER BY 1";
  const links = new Map(
    rowsIn(books, "SELECT account_seq, transfer_no, hash FROM transfer_log").map((row) => [
      `${row.account_seq} ${row.transfer_no}`,
      row.hash,
    ]),
  );
  for (const { account_seq, last_transfer_no, hash } of rowsIn(copy, ends))
    expect(links.get(`${account_seq} ${last_transfer_no}`)).toBe(hash ?? null);
};

test("backups under load each contain one moment, and restore to a directory that verifies", async () => {
  const dir = freshDir();
  const place = freshDir();
  const harness = await openOn(dir);
  const working = load(harness);
  const made: CreatedBackup[] = [];
  for (let n = 0; n < BACKUPS; n += 1) {
    const before = working.submitted();
    await harness.eventually(() => working.submitted() >= before + SUBMITTED_MEANWHILE, "load");
    const one = await makeBackup(askFor(dir, place, { aheadMs: harness.clock.nowMs() - Date.now() }), () => undefined).result;
    expect(one.faults).toEqual([]);
    made.push(one);
  }
  const before = working.submitted();
  await harness.eventually(() => working.submitted() >= before + CALLERS, "load");
  await working.stop();
  await harness.verify();
  await harness.crash();
  const counts = made.map(({ path }) => manifestOf(path).rows.generation ?? 0);
  expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  expect(new Set(counts).size).toBe(BACKUPS);
  for (const { path } of made) {
    const manifest = manifestOf(path);
    isOneMoment(join(path, "genrouter.db"), join(dir, "genrouter.db"), manifest);
    const to = join(freshDir(), "data");
    expect((await runHere(["backup", "restore", path, "--to", to, "--yes", "--json"])).exit as number).toBe(0);
    expect((await runHere(["verify", "--data", to])).exit as number).toBe(0);
    const { meta: _, ...rows } = manifest.rows;
    for (const [table, count] of Object.entries(rows))
      expect([table, numberIn(join(to, "genrouter.db"), `SELECT count(*) FROM "${table}"`)]).toEqual([table, count]);
  }
}, 60_000);

test("the one-moment check rejects a copy with a missing row, a wrong sum or a later event", async () => {
  const dir = freshDir();
  const harness = await openOn(dir);
  const working = load(harness);
  await harness.eventually(() => working.submitted() >= SUBMITTED_MEANWHILE, "load");
  const { path } = await makeBackup(askFor(dir, freshDir(), { aheadMs: harness.clock.nowMs() - Date.now() }), () => undefined)
    .result;
  const before = working.submitted();
  await harness.eventually(() => working.submitted() >= before + CALLERS, "load");
  await working.stop();
  await harness.crash();
  const manifest = manifestOf(path);
  const books = join(dir, "genrouter.db");
  const copy = join(path, "genrouter.db");
  isOneMoment(copy, books, manifest);
  const { transfer = 0, ...rest } = manifest.rows;
  expect(() => isOneMoment(copy, books, { ...manifest, rows: { ...rest, transfer: transfer - 1 } })).toThrow();
  expect(() =>
    isOneMoment(copy, books, { ...manifest, ledger: { ...manifest.ledger, held: manifest.ledger.held + 1 } }),
  ).toThrow();
  const db = new Database(copy);
  const journal = db.query<{ seq: number }, []>("SELECT max(generation_seq) AS seq FROM generation_event").get();
  db.run("INSERT INTO generation_event VALUES (?, 90, 1, 1, 'running.polling', '{}')", [journal?.seq ?? 0]);
  db.close();
  expect(() => isOneMoment(copy, books, manifest)).toThrow();
}, 60_000);
