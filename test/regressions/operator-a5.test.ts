// What a node over PostgreSQL says of backups and of its database's size: nothing, as both are the server's; an alert on them would never end.
import { afterAll, expect, test } from "bun:test";
import { readSettings } from "../../src/settings.ts";
import { openStanding, type StandingParts } from "../../src/standing.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

afterAll(dropDirs);

const standingOf = (url: string) => {
  const dir = freshDir();
  const settings = readSettings({ GENROUTER_DATA__DIR: dir, ...(url === "" ? {} : { GENROUTER_STORE__URL: url }) });
  const parts = {
    ...{ settings, clock: { nowMs: () => 0 }, nodes: () => 3, reads: { secret: async () => "0".repeat(64) } },
    ...{ engine: { stuck: { count: () => 0 } }, waiting: () => null },
  };
  return openStanding(parts as unknown as StandingParts);
};

test("A5: one process over a file says that there is no backup, nodes over a server say nothing", async () => {
  const [file, server] = [standingOf(""), standingOf("postgres://genrouter@db.example.com/genrouter?sslmode=verify-full")];
  expect([await file.lastBackupS(), file.databaseBytes()]).toEqual([0, 0]);
  expect([await server.lastBackupS(), server.databaseBytes()]).toEqual([undefined, undefined]);
});
