// Child pool: a child that crashes, hangs, exhausts memory or sends garbage fails only its own file.
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { Unreadable } from "../../../src/media/byte-source.ts";
import { CHILD_ENV } from "../../../src/media/sandbox/command.ts";
import { Busy, createSandbox, inMemory, type Sandbox } from "../../../src/media/sandbox/sandbox.ts";
import { eventually } from "../../eventually.ts";
import { mp4, png } from "../made.ts";

const opened: Sandbox[] = [];
const open = (options: Partial<Parameters<typeof createSandbox>[0]> = {}): Sandbox => {
  const sandbox = createSandbox({ workers: 1, ...options });
  opened.push(sandbox);
  return sandbox;
};
afterAll(() => Promise.all(opened.map((sandbox) => sandbox.close())));

const NEVER = new AbortController().signal;
const WHO = { share: "input", account: "1" };
const inspect = (sandbox: Sandbox, bytes: Uint8Array, signal = NEVER) =>
  sandbox.run("inspect", { depth: "whole" }, { source: inMemory([bytes]), who: WHO, signal }).catch((fault: unknown) => fault);

const isLinux = process.platform === "linux";
const BRIEF = { cpuMs: 200, wallMs: 60_000 };
const PROGRAM = join(import.meta.dir, "false-child.ts");
/** A faulty child: false-child.ts defines what it does with a job. */
const falsely = (does: string, more = {}) =>
  open({ command: () => [process.execPath, PROGRAM, does], bounds: { everyMs: 10, ofJob: BRIEF }, ...more });

describe("a child process", () => {
  test("inspects one file after another in the same process", async () => {
    const sandbox = open();
    const [clip, picture] = [await mp4({ seconds: 2 }), await png(64, 48)];
    expect(await inspect(sandbox, clip)).toMatchObject({ mime: "video/mp4", kind: "video", ms: 2000, isComplete: true });
    const before = sandbox.pids();
    expect(await inspect(sandbox, picture)).toMatchObject({ mime: "image/png", width: 64, height: 48 });
    expect(await inspect(sandbox, clip.slice(0, -9))).toMatchObject({ isComplete: false });
    expect(await inspect(sandbox, new TextEncoder().encode("nothing known".padEnd(90)))).toBeInstanceOf(Unreadable);
    expect(await inspect(sandbox, clip)).toMatchObject({ ms: 2000 });
    expect(sandbox.pids()).toEqual(before);
    expect(before.length).toBe(1);
  });

  test.skipIf(!isLinux)("limits its resources and system calls before it reads a byte", async () => {
    const sandbox = open();
    expect(await sandbox.held()).toMatchObject({ limits: true, calls: true, tied: true });
    const [pid = 0] = sandbox.pids();
    const reported = (name: string) => readFileSync(`/proc/${pid}/${name}`, "latin1");
    const limits = reported("limits");
    expect(limits).toMatch(/^Max address space\s+536870912\s+536870912/m);
    expect(limits).toMatch(/^Max core file size\s+0\s+0/m);
    expect(limits).toMatch(/^Max file size\s+0\s+0/m);
    expect(limits).toMatch(/^Max cpu time\s+120\s+120/m);
    expect(reported("oom_score_adj").trim()).toBe("1000");
    // The nineteenth field; the slice removes the process name before it.
    expect(
      reported("stat")
        .slice(reported("stat").lastIndexOf(")") + 2)
        .split(" ")[16],
    ).toBe("19");
    expect(reported("status")).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(reported("status")).toMatch(/^Seccomp:\s+2$/m);
  });

  test.skipIf(!isLinux)("inherits no environment variable, descriptor or directory of the service", async () => {
    process.env.GENROUTER_TEST_SECRET = "of the service";
    const kept = Bun.file(import.meta.path)
      .stream()
      .getReader();
    await kept.read();
    const sandbox = open();
    await inspect(sandbox, await png());
    const [pid = 0] = sandbox.pids();
    const names = readFileSync(`/proc/${pid}/environ`, "latin1")
      .split("\0")
      .filter((line) => line !== "")
      .map((line) => line.split("=")[0]);
    expect(names.sort()).toEqual(Object.keys(CHILD_ENV).sort());
    const places = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
    expect(places.filter((place) => !/^(socket|pipe|anon_inode):|^\/dev\/null$/.test(place))).toEqual([]);
    expect(places.filter((place) => /^(socket|pipe):/.test(place)).length).toBe(2);
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe("/");
    delete process.env.GENROUTER_TEST_SECRET;
  });

  test.skipIf(!isLinux)(
    "cannot open sockets, start processes, send signals, change files or access the memory of the service",
    async () => {
      const said = Bun.spawnSync([process.execPath, join(import.meta.dir, "confined-tries.ts"), String(process.pid)], {
        stdout: "pipe",
        env: { BUN_JSC_numberOfGCMarkers: "1", BUN_JSC_useConcurrentGC: "0", BUN_JSC_useConcurrentJIT: "0" },
      });
      const tries = said.stdout.toString().trim().split("\n");
      expect(tries).toHaveLength(12);
      expect(tries.filter((line) => !line.endsWith(": refused"))).toEqual([]);
    },
  );
});

test.each([
  ["exits on its own", "ends later"],
  ["has taken too much memory", "keeps much and hoards later"],
])("starts a new child for the next file after a child that %s", async (_, does) => {
  const sandbox = falsely(does, { bounds: { everyMs: 10, ofJob: { ...BRIEF, cpuMs: 5000 } } });
  expect(await inspect(sandbox, Uint8Array.of(1))).toMatchObject({ kind: "other" });
  const [before = 0] = sandbox.pids();
  expect(before).toBeGreaterThan(0);
  expect(await inspect(sandbox, await png())).toMatchObject({ kind: "other" });
  // A child that is being ended is counted until the system reports its exit.
  await eventually(() => !sandbox.pids().includes(before), "the end of the child before");
});

test("creates a thumbnail of a picture of 4096 × 4096 pixels in one write", async () => {
  const sandbox = open();
  const written: number[] = [];
  const sink = { mostBytes: 1_000_000, write: async (_: number, bytes: Uint8Array) => void written.push(bytes.length) };
  const asked = { source: inMemory([await png(4096, 4096)]), sink, who: WHO, signal: NEVER };
  expect(await sandbox.run("thumbnail", { sidePx: 480, mostPixels: 40_000_000 }, asked)).toEqual({ mime: "image/webp" });
  expect(written.length).toBe(1);
});

describe("a faulty child fails its file, and the next file is read", () => {
  const ways: [string, string][] = [
    ["ends", "it cannot be read"],
    ["is killed", "it cannot be read"],
    ["sends garbage", "it cannot be read"],
    ["sends a response that violates the schema", "it cannot be read"],
    ["sends a response that is too long", "it cannot be read"],
    ["sends an error with control characters", "it cannot be read"],
    ["requests bytes past the end", "it cannot be read"],
    ["writes an unrequested file", "it cannot be read"],
  ];
  test.each(ways)("reports the file as unreadable when a child %s", async (does, said) => {
    const sandbox = falsely(does);
    const fault = await inspect(sandbox, await png());
    expect(fault).toBeInstanceOf(Unreadable);
    expect((fault as Error).message).toBe(said);
    expect(await inspect(sandbox, Uint8Array.of(1))).toMatchObject({ kind: "other" });
  });

  test("replaces a child that sends messages without a request", async () => {
    const sandbox = falsely("chatters");
    expect(await inspect(sandbox, Uint8Array.of(1))).toMatchObject({ kind: "other" });
    const [before] = sandbox.pids();
    await eventually(async () => (await inspect(sandbox, Uint8Array.of(1))) !== undefined && sandbox.pids()[0] !== before);
  });

  test.skipIf(!isLinux)("ends a child that spins by its processor time", async () => {
    const fault = await inspect(falsely("spins"), await png());
    expect((fault as Error).message).toBe("it takes more work to read than a real file does");
  });

  test("ends a child that hangs by the clock", async () => {
    // The child of the next file has to respond within the same bound, on a slow machine too.
    const sandbox = falsely("sleeps", { bounds: { everyMs: 10, ofJob: { cpuMs: 60_000, wallMs: 1500 } } });
    expect(((await inspect(sandbox, await png())) as Error).message).toBe("it takes longer to read than a real file does");
    expect(await inspect(sandbox, Uint8Array.of(1))).toMatchObject({ kind: "other" });
  });

  test.skipIf(!isLinux)("ends a child that exceeds its memory limit", async () => {
    const fault = await inspect(falsely("hoards"), await png());
    expect((fault as Error).message).toBe("it takes more memory to read than a real file does");
  });

  test("reports Busy, not an unreadable file, when a child never starts", async () => {
    const sandbox = open({ command: () => [process.execPath, "-e", "process.exit(1)"] });
    expect(await inspect(sandbox, await png())).toBeInstanceOf(Busy);
    const none = open({ command: () => [join(import.meta.dir, "no-such-program")] });
    expect(await inspect(none, await png())).toBeInstanceOf(Busy);
  });
});

test("rethrows an error of the source unchanged and keeps the child", async () => {
  const sandbox = open();
  const fault = new Error("of the disk");
  const source = { sizeBytes: 100_000, first: new Uint8Array(0), read: () => Promise.reject(fault) };
  expect(
    await sandbox.run("inspect", { depth: "whole" }, { source, who: WHO, signal: NEVER }).catch((error: unknown) => error),
  ).toBe(fault);
  const before = sandbox.pids();
  expect(await inspect(sandbox, await png())).toMatchObject({ kind: "image" });
  expect(sandbox.pids()).toEqual(before);
});

test("does not count the time of a slow disk against the time limit of the file", async () => {
  const wallMs = 1500;
  const sandbox = open({ bounds: { everyMs: 10, ofJob: { cpuMs: 60_000, wallMs } } });
  const picture = await png();
  const read = (start: number, _: number, most: number) => Bun.sleep(2 * wallMs).then(() => picture.subarray(start, most));
  const asked = { source: { sizeBytes: picture.length, first: new Uint8Array(0), read }, who: WHO, signal: NEVER };
  expect(await sandbox.run("inspect", { depth: "whole" }, asked)).toMatchObject({ kind: "image", isComplete: true });
});

test("rejects an aborted inspection at once and reuses its child for the next file", async () => {
  const sandbox = open();
  const end = new AbortController();
  const source = {
    sizeBytes: 100_000,
    first: new Uint8Array(0),
    read: () => {
      end.abort();
      return Bun.sleep(20).then(() => new Uint8Array(100_000));
    },
  };
  const asked = { source, who: WHO, signal: end.signal };
  expect(await sandbox.run("inspect", { depth: "whole" }, asked).catch((error: unknown) => error)).toBeInstanceOf(Unreadable);
  expect(await inspect(sandbox, await png())).toMatchObject({ kind: "image" });
});

test("reports Busy when no child is free within the waiting time", async () => {
  const sandbox = falsely("sleeps");
  await sandbox.held();
  const first = inspect(sandbox, await png());
  const asked = { source: inMemory([await png()]), who: WHO, signal: NEVER, waitMs: 30 };
  expect(await sandbox.run("inspect", { depth: "whole" }, asked).catch((fault: unknown) => fault)).toBeInstanceOf(Busy);
  await sandbox.close();
  expect(await first).toBeInstanceOf(Unreadable);
});

test.skipIf(!isLinux)("ends its children when the parent process is killed", async () => {
  const parent = Bun.spawn([process.execPath, join(import.meta.dir, "parent.ts")], { stdout: "pipe", env: {} });
  const { value } = await parent.stdout.getReader().read();
  const pids: number[] = JSON.parse(new TextDecoder().decode(value));
  expect(pids.length).toBe(2);
  expect(pids.every((pid) => existsSync(`/proc/${pid}`))).toBe(true);
  parent.kill("SIGKILL");
  await parent.exited;
  const lives = (pid: number) =>
    existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  await eventually(() => !pids.some(lives));
});
