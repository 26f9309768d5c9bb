// A word of a prompt in PostgreSQL after the deletion of its generation: what the service removes, and what the operator's commands do.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Connection, connect } from "../../src/store/postgres/connections.ts";
import { type HarnessOfNodes, openHarnessOfNodes } from "../harness-nodes.ts";
import { onPostgres, sharedServer } from "../postgres/databases.ts";
import type { Server } from "../postgres/server.ts";

const WORD = "zanzibar";
/** A text that PostgreSQL stores outside the row, because it is long and does not compress. */
const LONG = `${Array.from({ length: 60 }, (_, n) => Bun.hash(String(n)).toString(36).repeat(3)).join(" ")} ${WORD}`;
const GUIDE = "deploy/README.md";

/** The SQL of a fenced block that follows a heading of the operator's guide. */
const commandsOf = (heading: string): string[] => {
  const after = readFileSync(GUIDE, "utf8").split(`\n${heading}\n`)[1] ?? "";
  const [, sql = ""] = /```sql\n([\s\S]*?)```/.exec(after) ?? [];
  return sql.split(";").flatMap((one) => one.replaceAll(/--.*$/gm, "").trim() || []);
};

onPostgres("erased texts", () => {
  let [server, harness, line]: [Server, HarnessOfNodes, Connection] = [] as never;
  const ids: string[] = [];
  /** Directories below the data directory with a file that contains the word. */
  const placesWith = (): string[] => {
    const found = readdirSync(server.dataDir, { recursive: true })
      .map(String)
      .filter((name) => statSync(join(server.dataDir, name)).isFile())
      .filter((name) => readFileSync(join(server.dataDir, name)).includes(WORD));
    return [...new Set(found.map((name) => name.split("/")[0] ?? ""))].sort();
  };
  const run = async (sql: string): Promise<void> => void (await line.send(sql));
  /** Tables with a row that contains the word. */
  const tablesWith = async (): Promise<string[]> => {
    const { rows } = await line.send<{ name: string }>("SELECT relname AS name FROM pg_stat_user_tables ORDER BY 1");
    const found: string[] = [];
    for (const { name } of rows)
      if ((await line.send(`SELECT 1 FROM ${name} t WHERE CAST(t AS text) LIKE '%${WORD}%' LIMIT 1`)).rows.length > 0)
        found.push(name);
    return found;
  };
  /** How often each table was vacuumed by command. */
  const vacuums = async (): Promise<Record<string, number>> => {
    const { rows } = await line.send<{ name: string; n: number }>(
      "SELECT relname AS name, vacuum_count AS n FROM pg_stat_user_tables",
    );
    return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
  };
  /** Columns of which the planner has samples with the word. */
  const sampled = async (): Promise<number> => {
    const { rows } = await line.send<{ n: number }>(
      `SELECT count(*) AS n FROM pg_stats WHERE schemaname = 'public'
       AND (CAST(histogram_bounds AS text) LIKE '%${WORD}%' OR CAST(most_common_vals AS text) LIKE '%${WORD}%')`,
    );
    return rows[0]?.n ?? 0;
  };
  const submit = async (model: string, input: Record<string, string>): Promise<void> => {
    const { status, body } = await harness.request("POST", "/v1/generations", {
      body: { model, input },
      headers: { "genrouter-end-user": `${WORD}@example.com`, "genrouter-metadata": `{"project":"${WORD} film"}` },
    });
    expect(status).toBe(202);
    ids.push(String(body.id));
  };

  beforeAll(async () => {
    server = await sharedServer();
    harness = await openHarnessOfNodes(1);
    line = await connect({ url: harness.databaseUrl, prepare: true });
    // What is removed is removed by the service and by the commands of the guide.
    await run("ALTER SYSTEM SET autovacuum = off");
    await run("SELECT pg_reload_conf()");
    for (let n = 0; n < 5; n += 1) await submit("sim-image-1", { prompt: `kite ${n} ${WORD}` });
    await submit("sim-image-1", { prompt: `[sim:refuse] ${WORD}` });
    await submit("sim-image-1", { prompt: LONG });
    for (const id of ids) await harness.until(id);
    await harness.components.ledger.idle();
  }, 120_000);
  afterAll(async () => {
    await harness.close();
    line.close();
  });

  test("the service vacuums each table that had the word, and the commands of the guide remove its last byte", async () => {
    await run("ANALYZE");
    await run("CHECKPOINT");
    const tables = await tablesWith();
    expect(tables).toEqual(["attempt_request", "end_user_name", "generation"]);
    expect([placesWith(), (await sampled()) > 0]).toEqual([["base", "pg_wal"], true]);

    for (const id of ids) expect((await harness.request("DELETE", `/v1/generations/${id}`)).status).toBe(200);
    const before = await vacuums();
    await harness.components.vacuumErased();
    const after = await vacuums();
    expect(tables.filter((name) => after[name] === before[name])).toEqual([]);
    expect([await tablesWith(), await sampled()]).toEqual([[], 0]);

    for (const sql of commandsOf("### Remove erased texts from PostgreSQL at once")) await run(sql);
    expect(placesWith()).toEqual([]);
  });

  test("the service vacuums again only after another erasure", async () => {
    await harness.components.vacuumErased();
    const { generation: before = 0 } = await vacuums();
    await harness.components.vacuumErased();
    expect((await vacuums()).generation).toBe(before);
    await submit("sim-image-1", { prompt: "a kite" });
    const id = ids.at(-1) ?? "";
    await harness.until(id);
    await harness.request("DELETE", `/v1/generations/${id}`);
    await harness.components.vacuumErased();
    expect((await vacuums()).generation).toBe(before + 1);
  });
});
