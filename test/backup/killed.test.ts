// Backups that are killed, stopped or out of space leave nothing that looks like a backup, and do not disturb the service.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listBackups } from "../../src/backup/backup-directory.ts";
import type { UnfinishedRow } from "../../src/store/sqlite/snapshot-copy/stats.ts";
import {
  ask,
  endow,
  type ServiceProcess,
  type SimulatorProcess,
  startService,
  startSimulator,
  type Tenant,
} from "../../src/torture/crash/crash-fixture.ts";
import { entry, freePort, run, until } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { casesOfShare } from "../case-share.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { mountSmallDisk } from "../disk-faults/disks.ts";
import { filesBelow, namesIn } from "./fixture.ts";

const SPEED = 500;
/** Far above what one client submits during a backup. */
const LIMITS = { GENROUTER_LIMITS__IN_PROGRESS: "100000" };
const data = join(freshDir(), "data");
let tenant: Tenant;
let simulator: SimulatorProcess;
let service: ServiceProcess;
let sent = 0;
const place = () => join(freshDir(), "backups");
const serve = (dir: string): Promise<ServiceProcess> =>
  startService(PROGRAM, { dir, simulatorUrl: simulator.url, speed: SPEED, env: LIMITS });
const submit = async (url = service.url): Promise<string> => {
  const body = JSON.stringify({ model: "sim-image-1", input: { prompt: `under load ${sent + 1}` } });
  const answer = await ask(url, tenant.key, { path: "/v1/generations", body, idempotencyKey: `k${++sent}` });
  expect(answer?.status).toBe(202);
  return String(answer?.body.id);
};
const settled = (id: string, url = service.url) =>
  until(
    `the end of ${id}`,
    async () => (await ask(url, tenant.key, { path: `/v1/generations/${id}` }))?.body.status === "succeeded",
  );
const backUp = (dir: string) => [...PROGRAM, "backup", "create", dir, "--data", data];

beforeAll(async () => {
  mkdirSync(data);
  const [first] = await endow(data, [1_000_000]);
  if (!first) throw new Error("no tenant");
  tenant = first;
  simulator = await startSimulator(PROGRAM, {
    port: await freePort(),
    speed: SPEED,
    log: join(freshDir(), "simulator.log"),
  });
  service = await serve(data);
  for (let n = 0; n < 12; n += 1) await settled(await submit());
}, 60_000);
afterAll(async () => {
  service.child.kill("SIGTERM");
  simulator.child.kill("SIGTERM");
  await Promise.all([service.child.ended, simulator.child.ended]);
  dropDirs();
});

const killAt = (what: "create" | "restore", from: string, to: string, line: string) =>
  run([...entry(join(import.meta.dir, "kill-at.ts")), what, from, to, line]);

const MOMENTS: [when: string, line: string][] = [
  ["before it copies the database", "^copying the database"],
  ["at the first file", "^files 1 of"],
  ["at the last file", "^files (\\d+) of \\1$"],
  ["when the manifest is written", "^checking 1 of"],
  ["while it checks the files", "^checking 9 of"],
  ["while it verifies the database", "^verifying the database"],
];

test.each(casesOfShare("moments of a kill", MOMENTS, ([when]) => when))(
  "a backup killed %s counts as incomplete, and the next backup removes it",
  async (_, line) => {
    const dir = place();
    expect((await killAt("create", data, dir, line)).signal).toBe("SIGKILL");
    expect(listBackups(dir).map(({ state }) => state)).toEqual(["incomplete"]);
    const next = await run(backUp(dir));
    expect([next.code, next.output]).toEqual([0, expect.stringContaining("verified")]);
    expect(listBackups(dir).map(({ state }) => state)).toEqual(["ok"]);
    await settled(await submit());
    expect((await runHere(["verify", "--data", data])).exit as number).toBe(0);
  },
  60_000,
);

test("a killed restore leaves a directory that no start accepts and no restore overwrites", async () => {
  const dir = place();
  await run(backUp(dir));
  const [made] = listBackups(dir);
  const to = join(freshDir(), "data");
  expect((await killAt("restore", made?.path ?? "", to, "^restoring 5 of")).signal).toBe("SIGKILL");
  const started = await runHere(["accounts", "list", "--data", to]);
  expect([started.exit as number, started.err]).toEqual([2, expect.stringMatching(/is damaged .*restore a backup/)]);
  const again = await runHere(["backup", "restore", made?.path ?? "", "--to", to, "--yes"]);
  expect([again.exit as number, again.err]).toEqual([78, expect.stringMatching(/is not empty/)]);
  rmSync(to, { recursive: true });
  expect((await runHere(["backup", "restore", made?.path ?? "", "--to", to, "--yes"])).exit as number).toBe(0);
}, 60_000);

test("Ctrl-C stops a backup without leftovers", async () => {
  const dir = place();
  const child = Bun.spawn(backUp(dir), { stderr: "pipe", stdout: "ignore" });
  let said = "";
  for await (const chunk of child.stderr) {
    if (said === "") child.kill("SIGINT");
    said += new TextDecoder().decode(chunk);
  }
  const exit = await child.exited;
  // The output is part of the failure message.
  expect([exit === 0 || exit === 130, exit, said]).toEqual([true, exit, said]);
  expect(namesIn(dir).length).toBe(exit === 0 ? 1 : 0);
}, 60_000);

test("a backup of the real process under load restores, starts, continues without double purchases and verifies", async () => {
  const dir = place();
  let isOver = false;
  const ids: string[] = [];
  const callers = Array.from({ length: 4 }, async () => {
    while (!isOver) ids.push(await submit());
  });
  await until("load", () => ids.length > 20);
  const made = await run([...backUp(dir), "--json"]);
  expect(made.code).toBe(0);
  const inBackup = [...ids];
  await until("more load", () => ids.length > inBackup.length + 10);
  isOver = true;
  await Promise.all(callers);
  const [newest] = listBackups(dir);
  const to = join(freshDir(), "data");
  const restored = await runHere(["backup", "restore", newest?.path ?? "", "--to", to, "--yes", "--json"]);
  expect(restored.exit as number).toBe(0);
  expect((await runHere(["verify", "--data", to])).exit as number).toBe(0);
  const again = await serve(to);
  // The first 20 ids were acknowledged before the backup began: they are restored, and unfinished ones complete.
  for (const id of ids.slice(0, 20)) await settled(id, again.url);
  const unfinished: UnfinishedRow[] = JSON.parse(restored.out).unfinished;
  // The service collects jobs that the backup knew. For all others it asks the provider before it sends anything.
  const isKnown = ({ state }: { state: string | null }) => state === "accepted";
  for (const { generation } of unfinished.filter(isKnown)) await settled(generation, again.url);
  for (const { generation } of unfinished.filter((row) => !isKnown(row))) {
    const seen = await ask(again.url, tenant.key, { path: `/v1/generations/${generation}` });
    expect(["queued", "running", "succeeded"]).toContain(String(seen?.body.status));
  }
  const bought = Map.groupBy(
    (await simulator.submissions("under load")).filter(({ accepted }) => accepted),
    ({ input }) => JSON.stringify(input),
  );
  expect([...bought.values()].filter(({ length }) => length > 1)).toEqual([]);
  again.child.kill("SIGTERM");
  expect((await again.child.ended).code).toBe(0);
  expect((await runHere(["verify", "--data", to])).exit as number).toBe(0);
  await Promise.all(ids.map((id) => settled(id)));
}, 120_000);

const disk = mountSmallDisk("64m");
if (typeof disk === "string") process.stderr.write(`backups on a full disk are not tested here: ${disk}\n`);

test.skipIf(typeof disk === "string")(
  "a backup is rejected before any write when the disk has too little space, and the service continues",
  async () => {
    if (typeof disk === "string") return;
    try {
      const { exit, err } = await runHere(["backup", "create", disk.path, "--data", data]);
      expect([exit as number, err]).toEqual([78, expect.stringMatching(/have to stay free, but only \d+ MB are; free space/)]);
      expect(namesIn(disk.path)).toEqual([]);
      await settled(await submit());
    } finally {
      disk.drop();
    }
  },
  60_000,
);

test("a disk that fills up during a backup is reported in one line, and leaves no files", async () => {
  // Enough space to begin, whatever the earlier tests have left in the data directory.
  const bytes = [...filesBelow(data).values()].reduce((sum, { length }) => sum + length, 0);
  const full = mountSmallDisk(`${80 + Math.ceil(bytes / 2 ** 20)}m`);
  if (typeof full === "string") return void process.stderr.write(`not tested here: ${full}\n`);
  try {
    const { createBackup } = await import("../../src/backup/create.ts");
    const { askFor } = await import("./fixture.ts");
    // Another program uses up the space that was free at the beginning.
    const fill = (line: string) => {
      if (line.startsWith("copying"))
        try {
          for (let n = 0; ; n += 1) writeFileSync(join(full.path, `..`, `ballast-${n}`), Buffer.alloc(64 * 1024));
        } catch {
          writeFileSync(join(full.path, "..", "full"), "");
        }
    };
    const making = () => createBackup(askFor(data, full.path, { aheadMs: 0 }), { report: fill, throwIfStopped: () => undefined });
    expect(making).toThrow(/the disk is full \((SQLITE_FULL|ENOSPC)\); free space on it or choose another directory/);
    expect(namesIn(full.path)).toEqual([]);
  } finally {
    full.drop();
  }
  await settled(await submit());
  expect((await runHere(["verify", "--data", data])).exit as number).toBe(0);
  expect(existsSync(join(data, "genrouter.db"))).toBe(true);
  expect(readFileSync(join(data, "owner"), "utf8")).toContain("pid ");
}, 60_000);
