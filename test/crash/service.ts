// The service as a process that dies at a named point: `CRASH_AT` names a write, read or migration and the moment.
import { Database } from "bun:sqlite";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "../../src/app/server.ts";
import { readSettings } from "../../src/config/load.ts";
import type { Mutation } from "../../src/domain/mutations.ts";
import { appliedEvents } from "../../src/domain/transition.ts";
import { createLog } from "../../src/logging/logger.ts";
import { MIGRATIONS, type Migration, SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import type { Store } from "../../src/store/store.ts";
import { testTelemetry } from "../telemetry/open-telemetry.ts";

/** `before:step/slotTaken`, `after:admit`, `inside:step/collected`, `read:unfinished`, `migration:user_version`. */
const [when = "", what = ""] = (process.env.CRASH_AT ?? "").split(":");
/** The file in which it notes that it reached the point. */
const hitFile = process.env.CRASH_HIT ?? "";

const note = (how = "") => writeFileSync(hitFile, `${when}:${what} ${how}`.trim());
const endHere = (): never => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("still alive after SIGKILL");
};
const die = (how = ""): never => {
  note(how);
  return endHere();
};

const settings = readSettings(Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("CRASH_"))));
const namesOf = (mutation: Mutation) =>
  mutation.mutation === "step" ? appliedEvents(mutation).map(({ event }) => `step/${event.type}`) : [mutation.mutation];
const logBytes = () => statSync(join(settings.data.dir, "genrouter.db-wal")).size;

/** Dies while the writing thread commits: the write-ahead log has begun to grow, and there is no response yet. */
const dieInside = (bytesBefore: number): never => {
  const endMono = performance.now() + 2000;
  while (performance.now() < endMono) if (logBytes() !== bytesBefore) endHere();
  return process.exit(99);
};

const around = (store: Store): Store => ({
  ...store,
  unfinished: async (afterSeq, limit) => {
    const found = await store.unfinished(afterSeq, limit);
    return when === "read" && what === "unfinished" ? die(`${found.length} found`) : found;
  },
  commit: async (mutations) => {
    const isHere = mutations.some((mutation) => namesOf(mutation).includes(what));
    if (isHere && when === "before") die();
    const isInside = isHere && when === "inside";
    if (isInside) note();
    const bytesBefore = isInside ? logBytes() : 0;
    const outcomes = store.commit(mutations);
    if (isInside) dieInside(bytesBefore);
    await outcomes;
    return isHere && when === "after" ? die() : outcomes;
  },
});

/** A release whose schema is one migration ahead of this one. */
if (process.env.CRASH_NEXT_SCHEMA)
  (MIGRATIONS as Migration[]).push({
    version: SCHEMA_VERSION + 1,
    sql: "ALTER TABLE account ADD COLUMN of_the_next_release INTEGER",
  });

if (when === "migration") {
  const run = Database.prototype.run;
  Database.prototype.run = function (this: Database, ...words: Parameters<typeof run>) {
    // Inside the transaction of the migration: the tables exist, version and commit do not.
    if (/^PRAGMA user_version = \d+$/.test(words[0]) && this.inTransaction) die(words[0]);
    return run.apply(this, words);
  } as typeof run;
}

const service = await createServer(settings, { simulate: true, telemetry: testTelemetry(createLog(settings.log)), around });
process.stdout.write(`url ${service.url}\n`);
process.once("SIGTERM", () => {
  service.drain().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
service.ended.then(
  (code) => process.exit(code),
  () => process.exit(1),
);
