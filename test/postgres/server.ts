// A PostgreSQL server for tests and programs: a new cluster in a temporary directory, removed with this process.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, closeSync, existsSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { refuseInQuickSet } from "../../scripts/test-sets.ts";
import { dropScratch } from "../scratch.ts";
import { AS, binary, VERSION } from "./binaries.ts";

export type Server = {
  port: number;
  /** Its data directory. */
  dataDir: string;
  /** The URL of one of its databases; `postgres` always exists. */
  url(database: string): string;
  /** Its log since the last start. */
  log(): string;
  /** Stops it as a crash would, which loses what is not in its write-ahead log, or in order without waiting for clients. */
  kill(how?: "crash" | "fast"): Promise<void>;
  /** Starts it again with its data, on the same port. */
  start(): Promise<void>;
  /** Stops it, and removes its directory. */
  stop(): Promise<void>;
};

const READY = "database system is ready to accept connections";
const START_MS = 60_000;
const LOOK_MS = 20;
/**
 * Runs until its standard input closes, which happens at any end of this process, then stops the server and removes everything.
 * A test runner that ends the remaining processes of a test does not end this one.
 */
const WATCH = `trap '' TERM INT HUP; cat >/dev/null; pid=$(head -n 1 "$1/cluster/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid"
i=0; while [ $i -lt 100 ] && kill -0 "$pid" 2>/dev/null; do i=$((i + 1)); sleep 0.1; done; rm -rf "$1"`;

const freePort = async (): Promise<number> => {
  const proxy = createServer().listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const address = proxy.address();
  proxy.close();
  await once(proxy, "close");
  return typeof address === "object" && address ? address.port : 0;
};

const runAs = async (program: string, words: readonly string[], dir: string): Promise<void> => {
  const child = spawn(program, words, { ...AS, cwd: dir, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${said}`);
};

/** A directory that the user who runs PostgreSQL can write. */
const makeDir = (prefix: string): string => {
  const dir = mkdtempSync(prefix);
  if (AS.uid !== undefined && AS.gid !== undefined) chownSync(dir, AS.uid, AS.gid);
  return dir;
};

/**
 * A new cluster that was never started, made once beside the programs: initdb takes a second of CPU time, and a copy a
 * twentieth. The rename is atomic, because other processes may make one at the same time.
 */
const newCluster = async (): Promise<string> => {
  const place = join(tmpdir(), `genrouter-postgres-${VERSION}-cluster-${AS.uid ?? process.getuid?.() ?? "user"}`);
  if (existsSync(join(place, "cluster"))) return place;
  const aside = makeDir(`${place}.`);
  const words = ["-D", join(aside, "cluster"), "-U", "genrouter", "-A", "trust", "--locale=C", "-E", "UTF8", "--no-sync"];
  await runAs(binary("initdb"), words, aside);
  try {
    renameSync(aside, place);
  } catch {
    rmSync(aside, { recursive: true });
  }
  return place;
};

/** @param settings Server settings besides its own: `{ max_connections: "200" }`. */
export const openServer = async (settings: Record<string, string> = {}): Promise<Server> => {
  refuseInQuickSet("a PostgreSQL server");
  const dir = makeDir(join(tmpdir(), "genrouter-pg-"));
  const watch = spawn("sh", ["-c", WATCH, "watch", dir], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  watch.unref();
  await runAs("cp", ["-a", join(await newCluster(), "cluster"), dir], dir);
  const port = await freePort();
  const own = { listen_addresses: "127.0.0.1", unix_socket_directories: "", max_connections: "200" };
  // Tests query the commit times of rows.
  const options = { ...own, track_commit_timestamp: "on", ...settings };
  const words = ["-D", join(dir, "cluster"), "-p", String(port)];
  for (const [name, value] of Object.entries(options)) words.push("-c", `${name}=${value}`);
  const file = join(dir, "log");
  const log = (): string => readFileSync(file, "utf8");
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const out = openSync(file, "w");
    const started = spawn(binary("postgres"), words, { ...AS, cwd: dir, stdio: ["ignore", out, out], detached: true });
    closeSync(out);
    started.unref();
    child = started;
    const untilMs = performance.now() + START_MS;
    while (!log().includes(READY)) {
      if (started.exitCode !== null || performance.now() > untilMs) throw new Error(`PostgreSQL does not start: ${log()}`);
      await Bun.sleep(LOOK_MS);
    }
  };
  const kill = async (how: "crash" | "fast" = "crash"): Promise<void> => {
    const ended = child;
    child = undefined;
    if (!ended || ended.exitCode !== null || ended.signalCode !== null) return;
    const end = once(ended, "exit");
    ended.kill(how === "crash" ? "SIGQUIT" : "SIGINT");
    await end;
  };
  await start();
  return {
    port,
    dataDir: join(dir, "cluster"),
    url: (database) => `postgres://genrouter@127.0.0.1:${port}/${database}`,
    log,
    start,
    kill,
    stop: async () => {
      await kill();
      dropScratch(dir);
      watch.stdin?.end();
    },
  };
};
