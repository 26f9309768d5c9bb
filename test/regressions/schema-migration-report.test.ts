// Schema migration report: the start logs the copy, and the doctor lists it.

import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Migrated } from "../../src/store/migration-report.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { connect } from "../../src/store/postgres/connections.ts";
import { COPY_SCHEMA } from "../../src/store/postgres/convert-pre-release.ts";
import { MIGRATIONS, SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import { start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { doctor, has } from "../cli/diagnosis.ts";
import { dropDirs } from "../cli/fresh-dir.ts";
import { FORMER, formerDirectory, formerScript } from "../former-releases/fixture.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { openServer } from "../postgres/server.ts";

afterAll(dropDirs);

test("a start that migrates the schema logs one line with both versions and the copy, which the doctor lists", async () => {
  const [, last] = FORMER;
  const dir = formerDirectory(last);
  const path = join(dir, "genrouter.db");
  const [newest, first] = [SCHEMA_VERSION, MIGRATIONS[0]?.version];
  const serve = () => start([...PROGRAM, "serve", "--simulate", "--port", "0", "--data", dir], {});
  const node = serve();
  await node.hears(/^url /m);
  node.kill("SIGTERM");
  await node.ended;
  const lines = node.output().match(/^.*"schema migrated".*$/gm) ?? [];
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(`from schema ${last.sqlite} to ${newest}; the copy made before is ${path}.before-${first}`);
  has(
    await doctor(dir, {}),
    "copies",
    "ok",
    new RegExp(`genrouter\\.db\\.before-${first}, [\\d.]+ \\w+, made .* can be deleted`),
  );
  const again = serve();
  await again.hears(/^url /m);
  again.kill("SIGTERM");
  await again.ended;
  expect(again.output()).not.toContain("schema migrated");
}, 30_000);

test.skipIf(postgresReason !== undefined)(
  "over PostgreSQL only the node that migrates the schema reports the migration",
  async () => {
    const server = await openServer();
    const url = server.url("postgres");
    const [, last] = FORMER;
    const line = await connect({ url, prepare: true });
    await line.script(formerScript(last));
    line.close();
    const reported: Migrated[] = [];
    for (let time = 0; time < 2; time += 1) {
      const store = await openPostgresStore({ url, prepare: true, mode: "test", migrated: (one) => reported.push(one) });
      await store.close();
    }
    await server.stop();
    expect(reported).toEqual([{ from: last.postgres, to: SCHEMA_VERSION, copy: `schema ${COPY_SCHEMA}` }]);
  },
  60_000,
);
