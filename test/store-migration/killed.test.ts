// Kills the real migration process at random moments and restarts it: the migration completes and both databases verify.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { start } from "../../src/torture/crash/processes.ts";
import { fillEnded } from "../bench/stock.ts";
import { PROGRAM } from "../built.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { makeDatabase } from "./database.ts";

const moving = test.skipIf(postgresReason !== undefined);

afterAll(dropDirs);

const COUNT = 4_000;
const FIRST_MS = 300;
const LATER_MS = 120;
const UNDER_WAY = /^(migrating|enabling|verifying the database)/m;

moving(
  "migrate-store completes after a Ctrl-C between two pages and repeated kills with SIGKILL",
  async () => {
    const [dir, database] = [join(freshDir(), "data"), await makeDatabase()];
    await fillEnded(dir, COUNT);
    const words = [...PROGRAM, "migrate-store", "--data", dir, "--to", database.url];
    const interrupted = start(words);
    await interrupted.hears(UNDER_WAY);
    process.kill(interrupted.pid, "SIGINT");
    expect((await interrupted.ended).code).toBe(130);
    expect(interrupted.output()).toMatch(/error: stopped; run the same command to resume$/m);
    let kills = 0;
    for (let ms = FIRST_MS; ; ms += LATER_MS) {
      const child = start(words);
      await Promise.race([Bun.sleep(ms), child.ended]);
      child.kill("SIGKILL");
      const { code } = await child.ended;
      if (code === null && UNDER_WAY.test(child.output())) kills += 1;
      if (code === null) continue;
      // A process that was killed after its verification or last commit has little or nothing left to do.
      expect(child.output()).toMatch(/all thirteen invariants hold|verified before the interruption|holds this store already/);
      break;
    }
    expect(kills).toBeGreaterThan(0);
    const store = await openPostgresStore({ url: database.url, prepare: true, mode: "test" });
    expect((await store.verify(null)).filter(({ ok }) => !ok)).toEqual([]);
    const counts = await database.ask(
      "SELECT (SELECT count(*) FROM generation) AS g, (SELECT count(*) FROM generation_event) AS j",
    );
    expect(counts).toEqual([{ g: BigInt(COUNT), j: BigInt(5 * COUNT) }] as never);
    await store.close();
    await database.drop();
  },
  120_000,
);
