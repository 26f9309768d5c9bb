// The `-o` option writes into a FIFO, a device, the target of a link or standard output, and never replaces it.
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

/** Capacity of a pipe. */
const PIPE_BYTES = 65_536;

let harness: Harness;
let dir = "";
let video = "";
/** SHA-256 of the video, from the ETag of the service. */
let whole = "";
beforeAll(async () => {
  harness = await openHarness();
  dir = freshDir();
  const { id } = await harness.submit("vidmodel-2.0-fast", { prompt: "a red kite", resolution: "480p", duration: 4 });
  await harness.until(id);
  video = id;
  whole = (await harness.request("HEAD", `/v1/generations/${id}/content`)).headers.get("etag")?.replaceAll('"', "") ?? "";
});
afterAll(async () => {
  await harness.close();
  dropDirs();
});

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const client = () => ["--url", harness.url, "--key", harness.tenant.key];
const download = (place: string) => runAs("own", ["download", video, "--force", "-o", place, ...client()], { cwd: dir });
const order = ["vidmodel-2.0-fast", "--prompt", "a red kite", "--resolution", "480p", "--duration", "4"];

const fifo = (name: string): string => {
  const path = join(dir, name);
  expect(spawnSync("sh", ["-c", 'mkfifo "$1"', "sh", path]).status).toBe(0);
  return path;
};

test("generate and download write into a FIFO and do not replace it", async () => {
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

test("Ctrl-C ends a download that writes into a full FIFO without an active reader", async () => {
  const path = fifo("unread.mp4");
  const long = await harness.submit("vidmodel-2.5", { prompt: "a red kite", resolution: "1080p", duration: 30 });
  await harness.until(long.id);
  const size = (await harness.request("HEAD", `/v1/generations/${long.id}/content`)).headers.get("content-length");
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

test("download follows symbolic links to existing and to missing files", async () => {
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

test("download writes into a character device and does not replace it", async () => {
  // A new null device, if the user may create one.
  const made = join(dir, "null");
  const path = spawnSync("sh", ["-c", 'mknod "$1" c 1 3', "sh", made]).status === 0 ? made : "/dev/null";
  const ran = await download(path);
  // If the file system is mounted without devices, the command rejects the path before it downloads anything.
  if (path === made && ran.exit === 2) expect(ran.err).toContain("cannot be written: permission denied");
  else expect([ran.exit, ran.err]).toEqual([0, expect.any(String)]);
  expect(lstatSync(path).isCharacterDevice()).toBe(true);
});

test.each(["-", "/dev/stdout", "/dev/fd/1"])(
  "-o %s writes the bytes to standard output and all messages to standard error",
  async (place) => {
    const ran = await download(place);
    expect([ran.exit, sha256(ran.out)]).toEqual([0, whole]);
    expect(ran.err).toContain("→ standard output");
    expect(readdirSync(dir)).not.toContain("-");
  },
);

test("generate rejects an output descriptor that is open only for reading, before it submits anything", async () => {
  const words = [...PROGRAM, "generate", ...order, "-o", "/dev/fd/3", ...client()].map((word) => `'${word}'`).join(" ");
  const env = { PATH: process.env.PATH ?? "", HOME: "/" };
  const child = Bun.spawn(["sh", "-c", `${words} 3</dev/null`], { cwd: dir, env, stdout: "pipe", stderr: "pipe" });
  const said = await new Response(child.stderr).text();
  expect([await child.exited, said]).toEqual([2, expect.stringContaining("/dev/fd/3 cannot be written: it is open for reading")]);
  // The command prints the quote only after the service accepted the generation.
  expect(said).not.toContain("quoted");
});

test("generate -o - writes the file into a pipe, and appends it if standard output is redirected with >>", async () => {
  const words = [...PROGRAM, "generate", ...order, "-o", "-", ...client()].map((word) => `'${word}'`).join(" ");
  const env = { PATH: process.env.PATH ?? "", HOME: "/" };
  const child = Bun.spawn(["sh", "-c", `printf head > all; ${words} >> all; ${words} | tail -c +5 | head -c 4`], {
    ...{ cwd: dir, env, stdout: "pipe", stderr: "pipe" },
  });
  expect(await new Response(child.stdout).text()).toBe("ftyp");
  expect(readFileSync(join(dir, "all")).subarray(0, 12).toString("latin1")).toMatch(/^head....ftyp$/s);
  expect(readdirSync(dir).filter((name) => name.startsWith("-"))).toEqual([]);
});

test("generate -o - writes only the first of several files and prints the command that saves all of them", async () => {
  const ran = await runAs("own", ["generate", "sim-image-1", "--prompt", "x", "-o", "-", ...client()], { cwd: dir });
  expect([ran.exit, ran.err]).toEqual([0, expect.any(String)]);
  expect(ran.out.subarray(1, 4).toString()).toBe("PNG");
  expect(ran.err).toMatch(/only file 1 of 2 was written; genrouter download gen_\w+ -o DIRECTORY\/ saves all of them/);
  const id = /gen_\w+/.exec(ran.err)?.[0] ?? "";
  expect((await harness.request("GET", `/v1/generations/${id}/content/2`)).status).toBe(200);
});
