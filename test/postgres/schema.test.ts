// Guards of the PostgreSQL schema: it rejects the same SQL as the SQLite schema, and every trigger has a case.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { type Connection, connect } from "../../src/store/postgres/connections.ts";
import { guards, makeRows } from "../store/guards.ts";
import { freshDatabase, onPostgres } from "./databases.ts";

const WORDS = {
  check: "violates check constraint",
  unique: (_: string, index: string) => `violates unique constraint "${index}"`,
  drop: (trigger: string, table: string) => `DROP TRIGGER ${trigger} ON ${table}`,
};
const NO_GENERATION = "(SELECT max(seq) FROM generation) + 1";
const ANOTHER = "(SELECT min(seq) FROM generation)";
/** Guards that only this schema has, or that the SQLite tests leave out. */
const OWN: [fault: string, sql: string][] = [
  ["a plan is immutable", "UPDATE plan SET routes = '[]'"],
  ["a plan cannot be deleted", "DELETE FROM plan"],
  ["route options are immutable", "UPDATE route_options SET options = '{}'"],
  ["route options cannot be deleted", "DELETE FROM route_options"],
  ["a debt repayment is immutable", "INSERT INTO debt_repayment VALUES (1, 1, 5); UPDATE debt_repayment SET credits = 6"],
  ["a debt repayment cannot be deleted", "INSERT INTO debt_repayment VALUES (1, 1, 5); DELETE FROM debt_repayment"],
  [
    "an ownership change is immutable",
    `INSERT INTO ownership_change VALUES (${ANOTHER}, 1, 1, 0, 0); UPDATE ownership_change SET epoch = 1`,
  ],
  [
    "an ownership change is immutable",
    `INSERT INTO ownership_change VALUES (${ANOTHER}, 1, 1, 0, 0); DELETE FROM ownership_change`,
  ],
  [
    WORDS.unique("", "ownership_change_pkey"),
    `INSERT INTO ownership_change VALUES (${ANOTHER}, 1, 1, 0, 0), (${ANOTHER}, 1, 1, 0, 0)`,
  ],
  ["violates foreign key constraint", `INSERT INTO ownership_change VALUES (${ANOTHER}, 1, 9, 0, 0)`],
  ["violates foreign key constraint", `INSERT INTO generation_event VALUES (${NO_GENERATION}, 1, 0, 1, 'queued', '{}')`],
  ["violates foreign key constraint", "DELETE FROM node"],
  [WORDS.unique("", "node_slot"), "INSERT INTO node (pid, host, opened_at_ms, slot) SELECT pid, host, 0, slot FROM node"],
  [WORDS.check, "UPDATE node SET slot = 64"],
  [WORDS.check, "DROP TRIGGER transfer_immutable ON transfer; UPDATE transfer SET seq = -seq WHERE kind = 'capture'"],
  [
    WORDS.unique("", "generation_idempotency_key"),
    "DROP TRIGGER generation_terms_immutable ON generation; UPDATE generation SET idempotency_key = 'k' WHERE completed_at_ms IS NULL",
  ],
];
const CASES = [...guards(WORDS), ...OWN];

onPostgres("the PostgreSQL schema", () => {
  let line: Connection;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const database = await freshDatabase();
    const address = { url: database.url, prepare: true };
    const store = await openPostgresStore({ ...address, mode: "test", readers: 1 });
    await makeRows(store);
    line = await connect(address);
    close = async () => {
      line.close();
      await store.close();
    };
  });
  beforeEach(() => line.script("BEGIN"));
  afterEach(() => line.script("ROLLBACK"));
  afterAll(() => close());

  test.each(CASES)("%s (%#)", async (fault, sql) => {
    const reported = await line.script(sql).then(
      () => "nothing",
      (error: Error) => error.message,
    );
    expect(reported).toContain(fault);
  });

  test("has a case for every trigger", async () => {
    const { rows } = await line.send<{ name: string; said: string }>(
      `SELECT t.tgname AS name, CASE WHEN p.proname LIKE 'reject%' THEN convert_from(substring(t.tgargs FOR length(t.tgargs) - 1), 'UTF8')
         ELSE p.prosrc END AS said
       FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE NOT t.tgisinternal ORDER BY 1`,
    );
    expect(rows.length).toBeGreaterThan(40);
    const untried = rows.flatMap(({ name, said }) => {
      const sentences = [...said.matchAll(/RAISE EXCEPTION '([^']+)'/g)].map((found) => found[1] ?? "");
      return (sentences.length > 0 ? sentences : [said])
        .filter((sentence) => !CASES.some(([fault]) => sentence.startsWith(fault)))
        .map((sentence) => `${name}: ${sentence}`);
    });
    expect(untried).toEqual([]);
  });
});
