// Runs the partitioning of docs/GROWTH.md on a real PostgreSQL: it is valid, keeps the constraints and detaches a month.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { leastSeqAt } from "../../src/domain/ids.ts";
import { type Connection, connect } from "../../src/store/postgres/connections.ts";
import { type Database, freshDatabase, onPostgres } from "../postgres/databases.ts";

const page = readFileSync(join(import.meta.dir, "../../docs/GROWTH.md"), "utf8");
const [, sql = ""] = /```sql\n([\s\S]*?)```/.exec(page) ?? [];
const [NOVEMBER, DECEMBER, JANUARY] = [
  leastSeqAt(Date.UTC(2026, 10, 1)),
  leastSeqAt(Date.UTC(2026, 11, 1)),
  leastSeqAt(Date.UTC(2027, 0, 1)),
];

onPostgres("partitions", () => {
  let database: Database;
  let line: Connection;
  // Each test creates the tables in a new schema, with a generation in each month.
  beforeEach(async () => {
    database = await freshDatabase();
    line = await connect({ url: database.url, prepare: true });
    await line.script("CREATE SCHEMA paged; SET search_path = paged");
    await line.script(sql);
    await generation(NOVEMBER + 7, "k-1");
    await generation(DECEMBER + 7, "k-2");
    await attempt(NOVEMBER + 7, 1, "a-1", "job-1");
    await settle(NOVEMBER + 50, NOVEMBER + 7, "capture");
  });
  afterEach(async () => {
    await line.script("DROP SCHEMA paged CASCADE");
    line.close();
    database.drop();
  });

  const generation = (seq: number, key: string | null, account = 1) =>
    line.send(
      "INSERT INTO generation (seq, account_seq, idempotency_key, reserved_credits) VALUES (?1, ?2, ?3, 100)",
      ...[seq, account, key],
    );
  const attempt = async (seq: number, n: number, ref: string, job: string) => {
    await line.send("INSERT INTO attempt (generation_seq, attempt_no, ref, provider) VALUES (?1, ?2, ?3, 'fal')", seq, n, ref);
    await line.send("UPDATE attempt SET job_id = ?3 WHERE generation_seq = ?1 AND attempt_no = ?2", seq, n, job);
  };
  const settle = (seq: number, of: number | null, kind: string) =>
    line.send("INSERT INTO transfer (seq, account_seq, generation_seq, kind, credits) VALUES (?1, 1, ?2, ?3, 5)", seq, of, kind);
  const count = async (table: string) =>
    (await line.send<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)).rows[0]?.count;

  test("have bounds that are the row numbers of months", () => {
    const bounds = new Set([...sql.matchAll(/(?:FROM|TO) \((\d+)\)/g)].map((found) => Number(found[1])));
    expect([...bounds].sort((a, b) => a - b)).toEqual([NOVEMBER, DECEMBER, JANUARY]);
  });

  test("keep an idempotency key, a job and a settlement unique across months", async () => {
    await generation(DECEMBER + 8, "k-1", 2);
    await expect(generation(DECEMBER + 9, "k-1")).rejects.toThrow(/duplicate key value .*used_key/);
    await expect(attempt(DECEMBER + 7, 1, "b-1", "job-1")).rejects.toThrow(/duplicate key value .*owned_job/);
    // A generation that was accepted in one month can end in the next.
    await expect(settle(DECEMBER + 50, NOVEMBER + 7, "capture")).rejects.toThrow(/duplicate key value .*settled/);
    await settle(DECEMBER + 51, NOVEMBER + 7, "release");
    await settle(NOVEMBER + 52, null, "topup");
    await settle(DECEMBER + 52, null, "topup");
    expect([await count("generation"), await count("transfer_2026_11"), await count("transfer_2026_12")]).toEqual([3, 2, 2]);
  });

  test("let the planner read only the partition of a row's month", async () => {
    const { rows } = await line.send<Record<string, string>>(`EXPLAIN SELECT * FROM generation WHERE seq = ${DECEMBER + 7}`);
    const plan = rows.map((row) => Object.values(row).join()).join("\n");
    expect([plan.includes("generation_2026_12"), plan.includes("generation_2026_11")]).toEqual([true, false]);
  });

  test("detach a month after its dependent rows, and its idempotency keys stay used", async () => {
    await expect(line.script("ALTER TABLE generation DETACH PARTITION generation_2026_11")).rejects.toThrow(
      /violates foreign key/,
    );
    await line.script("ALTER TABLE attempt DETACH PARTITION attempt_2026_11");
    await line.script("ALTER TABLE attempt_2026_11 DROP CONSTRAINT attempt_generation_seq_fkey");
    await line.script("ALTER TABLE generation DETACH PARTITION generation_2026_11");
    expect([await count("generation"), await count("generation_2026_11")]).toEqual([1, 1]);
    await expect(generation(DECEMBER + 10, "k-1")).rejects.toThrow(/duplicate key value .*used_key/);
  });
});
