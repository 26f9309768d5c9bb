// Results go into what `-o` names: a FIFO, a device, a link's target or standard output is written into, and never replaced.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { PROGRAM } from "../built.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";
import { runAs } from "./as-user.ts";

/** What a pipe holds. */
const PIPE_BYTES = 65_536;

let harness: Harness;
let dir = "";
let video = "";
/** SHA-256 of the video, as the service tells it. */
let whole = "";
beforeAll(async () => {
  harness = await openHarness();
  dir = freshDir();
  const { id } = await harness.submit("vidmodel-2.0-fast", { prompt: "a red kite", resolution: "480p", duration: 4 });
  await harness.until(id);
  video = id;
  whole = (await harness.ask("HEAD", `/v1/generations/${id}/content`)).headers.get("etag")?.replaceAll('"', "") ?? "";
});
afterAll(async () => {
  await harness.close();
  dropDirs();
});

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const client = () => ["--url", harness.url, "--key", harness.tenant.key];
const download = (place: string) => runAs("own", ["download", video, "-o", place, ...client()], { cwd: dir });
const order = ["vidmodel-2.0-fast", "--prompt", "a red kite", "--resolution", "480p", "--duration", "4"];

const fifo = (name: string): string => {
  const path = join(dir, name);
  expect(spawnSync("sh", ["-c", 'mkfifo "$1"', "sh", path]).status).toBe(0);
  return path;
};

test("D2: a FIFO is written into by generate and by download, and stays a FIFO", async () => {
  const path = fifo("pipe.mp4");
  for (const words of [
    ["generate", ...order],
    ["download", video],
  ]) {
    const [ran, bytes] = await Promise.all([
      runAs("own", [...words, "-o", path, ...client()], { cwd: dir }),
      open(path, "r").then(async (reader) => {
        const read = await reader.readFile();
        await reader.close();
        return read;
      }),
    ]);
    expect([ran.exit, ran.err]).toEqual([0, expect.any(String)]);
    expect(bytes.subarray(4, 8).toString()).toBe("ftyp");
    if (words[0] === "download") expect(sha256(bytes)).toBe(whole);
  }
  expect(lstatSync(path).isFIFO()).toBe(true);
});

test("D2: Ctrl-C ends a download whose FIFO is full and not read", async () => {
  const path = fifo("unread.mp4");
  const long = await harness.submit("vidmodel-2.5", { prompt: "a red kite", resolution: "1080p", duration: 30 });
  await harness.until(long.id);
  const size = (await harness.ask("HEAD", `/v1/generations/${long.id}/content`)).headers.get("content-length");
  expect(Number(size)).toBeGreaterThan(2 * PIPE_BYTES);
  const child = Bun.spawn([...PROGRAM, "download", long.id, "-o", path, ...client()], {
    ...{ env: { PATH: process.env.PATH ?? "", HOME: "/" }, stdout: "pipe", stderr: "pipe" },
  });
  const reader = await open(path, "r");
  await reader.read(Buffer.alloc(1), 0, 1);
  child.kill("SIGINT");
  expect(await child.exited).toBe(130);
  await reader.close();
  expect(await new Response(child.stderr).text()).toContain(`genrouter download ${long.id} -o ${path}`);
  expect(lstatSync(path).isFIFO()).toBe(true);
});

test("D2: links are followed, to a file that is there and to one that is not there yet", async () => {
  mkdirSync(join(dir, "elsewhere"));
  writeFileSync(join(dir, "elsewhere/old.mp4"), "old");
  const links = { "there.mp4": "elsewhere/old.mp4", "absent.mp4": "elsewhere/new.mp4", "twice.mp4": "there.mp4" };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(dir, name));
  for (const [name, target] of Object.entries(links)) {
    writeFileSync(join(dir, "elsewhere/old.mp4"), "old");
    const ran = await download(join(dir, name));
    expect([ran.exit, ran.err]).toEqual([0, expect.any(String)]);
    expect(readlinkSync(join(dir, name))).toBe(target);
    expect(sha256(readFileSync(join(dir, name)))).toBe(whole);
  }
  expect(readdirSync(join(dir, "elsewhere")).sort()).toEqual(["new.mp4", "old.mp4"]);
});

test("D2: a character device is written into, and stays one", async () => {
  // The null device: a copy of its own, where that may be made.
  const made = join(dir, "null");
  const path = spawnSync("sh", ["-c", 'mknod "$1" c 1 3', "sh", made]).status === 0 ? made : "/dev/null";
  const ran = await download(path);
  // A file system may be mounted without devices: then it is refused before anything is read.
  if (path === made && ran.exit === 2) expect(ran.err).toContain("cannot be written: permission denied");
  else expect([ran.exit, ran.err]).toEqual([0, expect.any(String)]);
  expect(lstatSync(path).isCharacterDevice()).toBe(true);
});

test.each(["-", "/dev/stdout", "/dev/fd/1"])(
  "B37: -o %s writes the bytes to standard output and every note to standard error",
  async (place) => {
    const ran = await download(place);
    expect([ran.exit, sha256(ran.out)]).toEqual([0, whole]);
    expect(ran.err).toContain("→ standard output");
    expect(readdirSync(dir)).not.toContain("-");
  },
);

test("B7: a descriptor that is open for reading alone is refused before anything is sent", async () => {
  const words = [...PROGRAM, "generate", ...order, "-o", "/dev/fd/3", ...client()].map((word) => `'${word}'`).join(" ");
  const env = { PATH: process.env.PATH ?? "", HOME: "/" };
  const child = Bun.spawn(["sh", "-c", `${words} 3</dev/null`], { cwd: dir, env, stdout: "pipe", stderr: "pipe" });
  const said = await new Response(child.stderr).text();
  expect([await child.exited, said]).toEqual([2, expect.stringContaining("/dev/fd/3 cannot be written: it is open for reading")]);
  // What is told of a generation once it is accepted.
  expect(said).not.toContain("quoted");
});

test("B37: generate -o - sends the file through a pipe, and appends to a file that standard output is", async () => {
  const words = [...PROGRAM, "generate", ...order, "-o", "-", ...client()].map((word) => `'${word}'`).join(" ");
  const env = { PATH: process.env.PATH ?? "", HOME: "/" };
  const child = Bun.spawn(["sh", "-c", `printf head > all; ${words} >> all; ${words} | tail -c +5 | head -c 4`], {
    ...{ cwd: dir, env, stdout: "pipe", stderr: "pipe" },
  });
  expect(await new Response(child.stdout).text()).toBe("ftyp");
  expect(readFileSync(join(dir, "all")).subarray(0, 12).toString("latin1")).toMatch(/^head....ftyp$/s);
  expect(readdirSync(dir).filter((name) => name.startsWith("-"))).toEqual([]);
});

test("B37: of several files the first goes to standard output, and the command that saves all of them is told", async () => {
  const ran = await runAs("own", ["generate", "sim-image-1", "--prompt", "x", "-o", "-", ...client()], { cwd: dir });
  expect([ran.exit, ran.err]).toEqual([0, expect.any(String)]);
  expect(ran.out.subarray(1, 4).toString()).toBe("PNG");
  expect(ran.err).toMatch(/only file 1 of 2 was written; genrouter download gen_\w+ -o DIRECTORY\/ saves all of them/);
  const id = /gen_\w+/.exec(ran.err)?.[0] ?? "";
  expect((await harness.ask("GET", `/v1/generations/${id}/content/2`)).status).toBe(200);
});
