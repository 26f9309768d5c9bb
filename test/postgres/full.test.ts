// A PostgreSQL database on a full disk: it rejects whole batches, and continues when there is space again.

import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chownSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { StoreFull } from "../../src/domain/commit-errors.ts";
import type { Mutation } from "../../src/domain/mutations.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { connect } from "../../src/store/postgres/connections.ts";
import { mountSmallDisk } from "../disk-faults/disks.ts";
import { admitMutation, openAccount, PRICES, violations } from "../store/fixture.ts";
import { AS, postgresReason } from "./binaries.ts";
import { openServer } from "./server.ts";

const disk = postgresReason ?? mountSmallDisk("24m");
if (typeof disk === "string") process.stdout.write(`skipped: a full database (${disk})\n`);

describe.skipIf(typeof disk === "string")("a full database", () => {
  afterAll(() => {
    if (typeof disk !== "string") disk.drop();
  });

  test("rejects a batch as a whole, and accepts it when there is space again", async () => {
    if (typeof disk === "string") throw new Error(disk);
    const place = join(disk.path, "tablespace");
    mkdirSync(place);
    // The user that runs the server needs access to the directory.
    for (const path of [dirname(disk.path), disk.path, place]) chownSync(path, AS.uid ?? 0, AS.gid ?? 0);
    const server = await openServer();
    const admin = await connect({ url: server.url("postgres"), prepare: true });
    await admin.script(`CREATE TABLESPACE small LOCATION '${place}'`);
    await admin.script("CREATE DATABASE small TABLESPACE small");
    const store = await openPostgresStore({ url: server.url("small"), prepare: true, mode: "test", readers: 2 });
    const account = await openAccount(store, 10_000_000);
    const filler = join(disk.path, "filler");
    const fill = spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=8192"]);
    expect(fill.stderr.toString()).toContain("No space left");

    const body = JSON.stringify({ input: { prompt: Array.from({ length: 400 }, () => crypto.randomUUID()).join() }, model: "m" });
    const batch = (): Mutation[] => Array.from({ length: 20 }, () => admitMutation(account, { body, inProgressLimit: 100_000 }));
    let written = 0;
    let fault: unknown;
    for (let round = 0; round < 100 && fault === undefined; round += 1)
      try {
        written += (await store.commit(batch())).filter(({ kind }) => kind === "admitted").length;
      } catch (thrown) {
        fault = thrown;
      }
    expect(fault).toBeInstanceOf(StoreFull);
    const held = async () => (await store.account(account.id))?.heldCredits;
    expect(await held()).toBe(written * PRICES.c);
    await expect(store.commit(batch())).rejects.toThrow(StoreFull);

    rmSync(filler);
    expect((await store.commit(batch())).map(({ kind }) => kind)).toEqual(Array(20).fill("admitted"));
    expect(await held()).toBe((written + 20) * PRICES.c);
    expect(await violations(store)).toEqual([]);
    await store.close();
    admin.close();
    await server.stop();
  }, 60_000);
});
