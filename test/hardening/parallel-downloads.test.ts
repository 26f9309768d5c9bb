// Two hundred concurrent slow downloads of a large file are streamed from disk in bounded memory.

import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, truncateSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start, until } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { dropScratch } from "../scratch.ts";

const MB = 1024 * 1024;
const CALLERS = 200;
const FILE_BYTES = 8 * MB;
/** All files in memory would take 1,600 MB. Socket buffers belong to the kernel and do not count. */
const MOST_GROWTH_MB = 160;
/** After this many bytes a client stops reading until all clients have received as many. */
const FIRST_PART = MB;

const dir = mkdtempSync(join(tmpdir(), "parallel-"));
afterAll(() => dropScratch(dir));

const rssMb = (pid: number) => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;

/** Requests for the whole file: without a range, from byte 0, and with several ranges, which are answered with the whole. */
const RANGES = ["", "Range: bytes=0-\r\n", "Range: bytes=0-1,4-9999999\r\n"];

/** Enlarges the file on disk and its stored size while no service runs. */
const grow = (id: string): void => {
  const files = readdirSync(join(dir, "files"), { recursive: true }).map(String);
  truncateSync(join(dir, "files", files.find((name) => name.endsWith(`${id}.1`)) ?? ""), FILE_BYTES);
  const db = new Database(join(dir, "genrouter.db"));
  const guards = db
    .query<{ name: string; sql: string }, []>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'generation'",
    )
    .all();
  for (const { name } of guards) db.run(`DROP TRIGGER ${name}`);
  db.run("UPDATE generation SET output = json_set(output, '$.files[0].bytes', ?) WHERE id = ?", [FILE_BYTES, id]);
  for (const { sql } of guards) db.run(sql);
  db.close();
};

type Caller = { socket: Socket; came: () => number; ended: Promise<void> };

/** Sends a request over a separate socket and stops reading after the first part. */
const call = (url: URL, path: string, headers: string): Caller => {
  const socket = connect(Number(url.port), url.hostname);
  let bytes = 0;
  let bodyAt = -1;
  let isHeld = true;
  const ended = new Promise<void>((done, failed) => {
    socket.on("data", (chunk) => {
      if (bodyAt < 0) {
        const at = chunk.indexOf("\r\n\r\n");
        bodyAt = at + 4;
        bytes -= bodyAt;
      }
      bytes += chunk.length;
      if (bytes >= FIRST_PART && isHeld) {
        isHeld = false;
        socket.pause();
      }
      if (bytes >= FILE_BYTES) done();
    });
    socket.on("error", failed);
    socket.on("close", () => (bytes >= FILE_BYTES ? done() : failed(new Error(`closed after ${bytes} bytes`))));
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n${headers}\r\n`);
  return { socket, came: () => bytes, ended };
};

test("two hundred concurrent slow downloads of a large file grow the service by less than 160 MB", async () => {
  const serve = async () => {
    const service = start([...PROGRAM, "serve", "--simulate", "--port", "0", "--data", dir], {
      GENROUTER_SIMULATOR__SPEED: "1000",
      GENROUTER_LIMITS__BURST_PER_S: "100000",
    });
    return { service, url: new URL((await service.hears(/^url (\S+)$/m))[1] ?? "") };
  };
  const first = await serve();
  const key = (await first.service.hears(/^key (\S+)$/m))[1] ?? "";
  const authorization = `Bearer ${key}`;
  const ask = async (path: string, body?: object) => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    return (await (await fetch(`${first.url.origin}${path}`, { ...init, headers: { authorization } })).json()) as {
      id: string;
      status: string;
      output: { urls: string[] } | null;
    };
  };
  const { id } = await ask("/v1/generations", { model: "sim-image-1", input: { prompt: "a large one" } });
  const shown = await until("the generation", async () => {
    const seen = await ask(`/v1/generations/${id}`);
    return seen.status === "succeeded" && seen;
  });
  first.service.kill("SIGTERM");
  await first.service.ended;
  grow(id);

  const { service, url } = await serve();
  try {
    const link = new URL(shown.output?.urls[0] ?? "");
    const before = rssMb(service.pid);
    const callers = Array.from({ length: CALLERS }, (_, n) =>
      n % 4 === 3
        ? call(url, `${link.pathname}${link.search}`, "")
        : call(url, `/v1/generations/${id}/content`, `Authorization: ${authorization}\r\n${RANGES[n % 4]}`),
    );
    let most = before;
    const look = () => {
      most = Math.max(most, rssMb(service.pid));
    };
    await until("the first part at every client", () => {
      look();
      return callers.every(({ came }) => came() >= FIRST_PART);
    });
    look();
    for (const { socket } of callers) socket.resume();
    const all = Promise.all(callers.map(({ ended }) => ended));
    let isDone = false;
    void all.then(
      () => (isDone = true),
      () => (isDone = true),
    );
    await until(
      "the whole file at every client",
      () => {
        look();
        return isDone;
      },
      60_000,
    );
    await all;
    for (const { socket } of callers) socket.destroy();
    expect(most - before).toBeLessThan(MOST_GROWTH_MB);
  } finally {
    service.kill("SIGKILL");
    await service.ended;
  }
}, 120_000);
