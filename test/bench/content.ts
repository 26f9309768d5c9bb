// Bench of downloads: a file of 4 MiB from the service against a bare Bun.serve, and the memory of slow clients.
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { fetchStats } from "../../src/cli/control-client.ts";
import { dropScratch, makeScratch } from "../scratch.ts";
import { type Bench, closely, hold, type Result, type Spread, spreadOf } from "./bench.ts";
import { beside, playRounds } from "./rounds.ts";
import { headOf, IN_LINE, type Rung, type Stage, startRung, withService } from "./sides.ts";
import { type Stocked, stock } from "./stock.ts";
import { watchResident } from "./watch-resident.ts";

const BYTES = 4 * 1024 * 1024;
/** At most as many files as connections, each of a different generation. */
const FILES = 8;
/**
 * Reading is more expensive than sending: the load's core is full before the side's, so downloads per second would measure the
 * load. The bench therefore compares the downloads per second of CPU time.
 */
const CONNECTIONS = 4;
const FILE_SERVER = join(import.meta.dir, "rungs/file-server.ts");

const SLOW_CLIENTS = 200;
const SLOW_ADDS_MIB = 64;
const MIB = 1024 * 1024;
/** A slow client reads a piece, then pauses: about 1 MB/s each. */
const PIECE_BYTES = 64 * 1024;
const REST_MS = 60;

const contentHeads = (seen: readonly Stocked[]): string[] =>
  seen.map(({ id, key }) => headOf(`GET /v1/generations/${id}/content`, key));

/** One slow download over a plain socket. @returns the SHA-256 of the body. @throws if it is incomplete. */
const downloadSlowly = (port: number, head: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const hash = new Bun.CryptoHasher("sha256");
    const socket = connect({ host: "127.0.0.1", port });
    let headSoFar: Buffer | undefined = Buffer.alloc(0);
    let missing = BYTES;
    let piece = 0;
    const take = (bytes: Buffer) => {
      hash.update(bytes);
      missing -= bytes.length;
      piece += bytes.length;
      if (missing <= 0) {
        socket.destroy();
        if (missing === 0) resolve(hash.digest("hex"));
        else reject(new Error("a body was longer than the file"));
      } else if (piece >= PIECE_BYTES) {
        piece = 0;
        socket.pause();
        setTimeout(() => socket.resume(), REST_MS);
      }
    };
    socket.on("connect", () => socket.write(`${head}\r\n`));
    socket.on("data", (bytes: Buffer) => {
      if (headSoFar === undefined) return take(bytes);
      headSoFar = Buffer.concat([headSoFar, bytes]);
      const end = headSoFar.indexOf("\r\n\r\n");
      if (end < 0) return;
      const body = headSoFar.subarray(end + 4);
      const status = headSoFar.toString("latin1", 9, 12);
      headSoFar = undefined;
      if (status !== "200") reject(new Error(`a download was answered ${status}`));
      else if (body.length > 0) take(body);
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`a download broke off with ${missing} bytes missing`)));
  });

/** @returns the largest increase of a process's resident memory, MiB. */
const addedBySlow = async (pid: number, port: number, heads: readonly string[], sha256: string): Promise<number> => {
  const watch = watchResident(pid);
  const hashes = await Promise.all(
    Array.from({ length: SLOW_CLIENTS }, (_, n) => downloadSlowly(port, heads[n % heads.length] ?? "")),
  ).finally(watch.stop);
  if (hashes.some((one) => one !== sha256)) throw new Error("a slow download was not the file");
  return watch.addedBytes() / MIB;
};

export const content: Bench = {
  name: "content",
  compares:
    "downloads of 4 MiB per second of CPU time: the service / bare Bun.serve sending as many of the same; and 200 slow downloads",
  run: async (env) => {
    const bytes = randomBytes(BYTES);
    const sha256 = Bun.SHA256.hash(bytes, "hex");
    const scratch = makeScratch("bench-content-");
    // As many files as the service has: a single file would come from the processor's cache.
    for (let n = 0; n < FILES; n += 1) writeFileSync(join(scratch, `clip-${n}.mp4`), bytes);
    let seen: Stocked[] = [];

    const measure = async ({ service, dir }: Stage, rung: Rung): Promise<Result[]> => {
      const heads = contentHeads(seen);
      const stream = { heads, isKeyed: false, body: "" };
      const sides = {
        ours: { name: "the service", port: service.port, pids: [service.pid], streams: [stream] },
        other: { name: "bare Bun.serve", port: rung.port, pids: [rung.pid], streams: [stream] },
      };
      const plan = { ...closely(env), forMs: env.roundMs, connections: CONNECTIONS, rate: null, mayBeFull: true };
      const { ours, other } = await playRounds(sides, plan, (status) => status === "200");
      const perCpuSecond = (cpuUs: Spread) => spreadOf(cpuUs.each.map((us) => 1e6 / us));
      await fetchStats(dir, { collect: true });
      const added = await addedBySlow(service.pid, service.port, heads, sha256);
      const addedToBare = await addedBySlow(rung.pid, rung.port, heads, sha256);
      const slow = { unit: "MiB", target: 1, wants: "at most" } as const;
      return [
        hold(
          {
            name: "content",
            unit: "per CPU s",
            sides: "the service / bare Bun.serve",
            target: 0.85,
            wants: "at least",
            ...beside({ ours, other }),
          },
          perCpuSecond(ours.cpuUs),
          perCpuSecond(other.cpuUs),
        ),
        hold(
          { name: "content, req/s", unit: "req/s", sides: "bounded by the load", target: 0.85, wants: "at least", isNote: true },
          ours.perSecond,
          other.perSecond,
        ),
        hold(
          { ...slow, name: "content, slow", sides: `added by ${SLOW_CLIENTS} slow downloads / the bound` },
          added,
          SLOW_ADDS_MIB,
        ),
        hold(
          { ...slow, name: "content, slow, bare", sides: "added to bare Bun.serve / the bound", isNote: true },
          addedToBare,
          SLOW_ADDS_MIB,
        ),
      ];
    };
    const results = await withService(
      { env: IN_LINE },
      async (stage) => {
        const rung = await startRung(scratch, FILE_SERVER);
        return measure(stage, rung).finally(() => rung.stop());
      },
      async (dir, tenants) => {
        seen = await stock(dir, tenants, FILES, "succeeded", { content: bytes });
      },
    );
    dropScratch(scratch);
    return results;
  },
};
