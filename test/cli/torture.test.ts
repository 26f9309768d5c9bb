// `genrouter torture` with real processes: verdict, remaining files, a disk that loses synced data, a full disk, and Ctrl-C.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { torture } from "../../src/cli/commands/torture.ts";
import { createTerminal } from "../../src/cli/terminal.ts";
import { offendingOf } from "../../src/torture/crash/quiesce.ts";
import { PROGRAM } from "../built.ts";
import { casesOfShare } from "../case-share.ts";
import { mountSmallDisk, type SmallDisk } from "../disk-faults/disks.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

const FORGETFUL = join(import.meta.dir, "../crash/skip-fsync.ts");
/** Services, simulators and clients start many times, on a machine of unknown speed. */
const LONG_MS = 150_000;
/** More free space than a torture run needs to begin. */
const SMALL_MB = 160;

/** Processes whose command line or environment names a directory; Linux only. */
const runningIn = (dir: string): string[] =>
  (existsSync("/proc/self/environ") ? readdirSync("/proc") : []).filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) && ["cmdline", "environ"].some((file) => readFileSync(`/proc/${pid}/${file}`, "utf8").includes(dir))
      );
    } catch {
      // The process has ended meanwhile, or belongs to another user.
      return false;
    }
  });

afterAll(dropDirs);

/** Each case is a torture run of several seconds on every core. */
const LONG = [
  "prints a verdict with its figures and leaves no file behind",
  "reports lost data, the command that repeats the run and the directory kept, on a disk that loses synced data",
  "ends early at Ctrl-C with a verdict, and leaves no file and no process behind",
  "exits with 78 and the figures so far when the disk fills, and leaves no file on it",
] as const;
const chosen = casesOfShare("tortures", LONG, (name) => name);
const testLong = (name: (typeof LONG)[number], body: () => Promise<void>, isPossible = true): void =>
  test.skipIf(!isPossible || !chosen.includes(name))(name, body, LONG_MS);

describe("torture", () => {
  testLong("prints a verdict with its figures and leaves no file behind", async () => {
    const dir = freshDir();
    const { exit, out, err } = await runHere(["torture", "--minutes", "0.05", "--dir", dir, "--seed", "11"]);
    expect([exit as number, out]).toEqual([0, expect.stringMatching(/^✔ Nothing was lost\.\n/)]);
    expect(out).toMatch(/ {2}\d+ acknowledged submissions? over \d+ crash(es)? in (\d+ min )?\d+ s: 0 missing/);
    expect(out).toMatch(/ {2}[\d,]+ credits charged: 0 missing, 0 charged twice, 0 still held/);
    expect(out).toMatch(/ {2}\d+ simulated worlds? with .*: 0 findings/);
    expect(out).toMatch(/ {2}the thirteen invariants were verified \d+ times?: all of them hold\n/);
    expect(out).toMatch(/ {2}disk: .*; a sync takes [\d.]+ ms \(p50\), [\d.]+ ms \(p99\)/);
    expect(err).toMatch(/^torture of this program in \S+, seed 11; Ctrl-C stops it and prints a verdict/);
    expect(err).toMatch(/0:00 of 0:03 · 0 crashes, 0 submissions · measuring the disk/);
    expect(readdirSync(dir)).toEqual([]);
  });

  testLong(
    "reports lost data, the command that repeats the run and the directory kept, on a disk that loses synced data",
    async () => {
      const dir = freshDir();
      let out = "";
      const terminal = createTerminal({}, (fd, text) => {
        if (fd === 1) out += text;
      });
      const session = { terminal, env: {}, exit: 0 as const };
      const exit = await torture(session, { minutes: "0.05", dir, seed: "11" }, [process.execPath, FORGETFUL]);
      expect([exit as number, out]).toEqual([1, expect.stringMatching(/^✘ \d+ invariants? (was|were) broken\.\n/)]);
      expect(out).toMatch(/broken: every acknowledged generation exists.*\n {6}gen_\w+: acknowledged with 20[02], not stored\n/);
      expect(out).toContain(`run it again with: npm run genrouter -- torture --seed 11 --minutes 0.05 --dir ${dir}\n`);
      const [scratch = ""] = readdirSync(dir);
      expect(out).toContain(`remaining files are in ${join(dir, scratch)}\n`);
      expect(readdirSync(join(dir, scratch))).not.toEqual([]);
    },
  );

  testLong("ends early at Ctrl-C with a verdict, and leaves no file and no process behind", async () => {
    const dir = freshDir();
    const child = Bun.spawn([...PROGRAM, "torture", "--minutes", "60", "--dir", dir, "--json"], {
      env: { PATH: process.env.PATH ?? "" },
      stdout: "pipe",
      stderr: "pipe",
    });
    const reader = child.stderr.getReader();
    let err = "";
    while (!err.includes("measuring the disk")) err += new TextDecoder().decode((await reader.read()).value);
    reader.releaseLock();
    child.kill("SIGINT");
    const verdict = JSON.parse(await new Response(child.stdout).text());
    expect(verdict).toMatchObject({ ok: true, stopped_early: true, findings: [], kept: null });
    expect(await child.exited).toBe(0);
    expect(verdict.figures.kills).toBeGreaterThan(0);
    expect(verdict.disk.syncMs.syncs).toBeGreaterThan(0);
    expect(readdirSync(dir)).toEqual([]);
    expect(runningIn(dir)).toEqual([]);
  });

  const disk = mountSmallDisk(`${SMALL_MB}m`);
  afterAll(() => {
    if (typeof disk !== "string") disk.drop();
  });

  testLong(
    "exits with 78 and the figures so far when the disk fills, and leaves no file on it",
    async () => {
      const { path } = disk as SmallDisk;
      const filler = join(path, "filler");
      let [out, isFilled] = ["", false];
      const terminal = createTerminal({}, (fd, text) => {
        if (fd === 1) out += text;
      });
      const progress = terminal.progress;
      terminal.progress = (line) => {
        progress(line);
        if (isFilled || !line?.includes("killing the service")) return;
        isFilled = true;
        // Fill the whole disk, so that the client of the torture run cannot write its own log either.
        const { bavail, bsize } = statfsSync(path);
        try {
          writeFileSync(filler, Buffer.alloc(bavail * bsize));
        } catch {
          // The disk is full, as intended.
        }
      };
      const run = () => torture({ terminal, env: {}, exit: 0 }, { minutes: "0.5", dir: path, seed: "11", json: true }, PROGRAM);
      expect((await run()) as number).toBe(78);
      const verdict = JSON.parse(out);
      expect(verdict).toMatchObject({ ok: false, unjudged: "disk-full", findings: [], kept: null, again: [] });
      expect(verdict.figures.kills).toBeGreaterThan(0);
      expect(readdirSync(path)).toEqual(["filler"]);
      // A run does not begin on a full disk.
      await expect(run()).rejects.toThrow(/has \d+ MB free, and torture needs 128 MB/);
    },
    typeof disk !== "string",
  );

  test("reports only the violated invariants from the output of verify", () => {
    const held = { invariant: 1, name: "kept", ok: true, offending: [] };
    const broken = {
      invariant: 7,
      name: "credits are conserved",
      ok: false,
      offending: [{ a: 1 }, { a: 2 }, { a: 3 }, { a: 4 }],
    };
    const said = `warning: slow\n${JSON.stringify({ ok: false, checks: [held, broken] })}\n`;
    expect(offendingOf(1, said)).toEqual(['invariant 7 (credits are conserved): {"a":1} {"a":2} {"a":3} and 1 more']);
    expect(offendingOf(2, "no such directory")).toEqual(["exit 2: no such directory"]);
    expect(offendingOf(0, said)).toEqual([]);
  });

  test("rejects a data directory and invalid flags with exit code 2, and changes nothing", async () => {
    const dir = freshDir();
    writeFileSync(join(dir, "genrouter.db"), "");
    const wrong: [string[], RegExp][] = [
      [["--dir", dir], /is a data directory, which must not be used\n {2}name another directory on the same disk/],
      [["--dir", join(dir, "nowhere")], /there is no directory/],
      [["--minutes", "0"], /--minutes: "0" is not a number above 0/],
      [["--minutes", "long"], /--minutes: "long" is not a number/],
      [["--seed", "x"], /--seed: "x" is not a whole number/],
    ];
    for (const [words, message] of wrong) {
      const { exit, out, err } = await runHere(["torture", ...words]);
      expect([exit as number, out, err]).toEqual([2, "", expect.stringMatching(message)]);
    }
    expect(readdirSync(dir)).toEqual(["genrouter.db"]);
  });
});
