// The service as a side of a bench: the compiled binary on the measured core, over a directory with thousands of accounts.
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import { openSqliteStore } from "../../src/store/sqlite/client.ts";
import type { Store } from "../../src/store/store.ts";
import { BINARY, freePort, type Genrouter, run } from "../../src/torture/crash/processes.ts";
import { killAtTheEnd } from "../scratch.ts";
import { onBothCores, onServerCore, residentBytes } from "./machine.ts";

export type Tenant = { accountSeq: number; keySeq: number; key: string };

const CREDITS_EACH = 1_000_000_000;
const MUTATIONS_AT_ONCE = 1_000;
const PATIENCE_MS = 60_000;
const LOOK_MS = 1;

/** Parts that are committed at once. */
export const inParts = function* <T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += MUTATIONS_AT_ONCE) yield all.slice(at, at + MUTATIONS_AT_ONCE);
};

/** Creates `count` accounts in a store, each with a key and more credits than it can spend. */
export const endowIn = async (store: Pick<Store, "commit">, accounts: number): Promise<Tenant[]> => {
  const atMs = Date.now();
  const tenants: Tenant[] = [];
  for (const part of inParts(Array.from({ length: accounts }, () => newId("acc")))) {
    const made = await store.commit(part.map((id) => ({ mutation: "create-account", id, name: "bench", atMs })));
    const seqs = made.map((outcome) => (outcome.kind === "done" ? (outcome.seq ?? 0) : 0));
    const keys = seqs.map((accountSeq) => ({ accountSeq, key: newApiKey("test") }));
    await store.commit(
      seqs.map((accountSeq) => ({
        ...{ mutation: "credit", accountSeq, kind: "topup", credits: CREDITS_EACH, note: "bench", reference: null, atMs },
      })),
    );
    const given = await store.commit(
      keys.map(({ accountSeq, key }) => ({
        ...{ mutation: "create-key", id: newId("key"), accountSeq, scope: "generate", name: "", atMs },
        ...{ hash: hashApiKey(key), start: key.slice(0, 12) },
      })),
    );
    for (const [at, { accountSeq, key }] of keys.entries()) {
      const outcome = given[at];
      tenants.push({ accountSeq, key, keySeq: outcome?.kind === "done" ? (outcome.seq ?? 0) : 0 });
    }
  }
  return tenants;
};

/** Creates a data directory with such accounts. */
export const endow = async (dir: string, accounts: number): Promise<Tenant[]> => {
  mkdirSync(dir, { recursive: true });
  const store = await openSqliteStore({ dir, mode: "test" });
  const tenants = await endowIn(store, accounts);
  await store.close();
  return tenants;
};

export type Service = {
  port: number;
  url: string;
  pid: number;
  /** The time from the start of the process to the first 200 of `/readyz`, ms. */
  readyMs: number;
  residentBytes(): number;
  kill(): Promise<void>;
  /** Stops it as an operator would. @throws if its exit code is not 0. */
  stop(): Promise<void>;
};

export type ServiceOptions = {
  dir: string;
  /** Additional settings (`GENROUTER_…`). */
  env?: Readonly<Record<string, string>>;
  genrouter?: Genrouter;
  /** Runs on the load's core, for a service that only helps. */
  words?: readonly string[];
  isPinned?: boolean;
  /** A free port; default: any. */
  port?: number;
  /** The interval of readiness polls, ms: during a long start they cost CPU time. */
  lookMs?: number;
};

/** High limits, so that the bench measures the service and not its rejections. */
const RAISED = {
  GENROUTER_LIMITS__BURST_PER_S: "10000000",
  GENROUTER_LIMITS__IN_PROGRESS: "100000000",
  GENROUTER_LIMITS__MAX_PENDING_SUBMISSIONS: "100000",
};

const alive = new Set<ReturnType<typeof Bun.spawn>>();
/** Kills the services that a failed bench left. */
export const killServices = (): void => {
  for (const child of alive) child.kill("SIGKILL");
};
killAtTheEnd(killServices);

/** Starts the service on a directory, with the embedded simulator unless the environment names providers. */
export const startService = async (options: ServiceOptions): Promise<Service> => {
  const { dir, env = {}, genrouter = BINARY, words, isPinned = true, lookMs = LOOK_MS } = options;
  const port = options.port ?? (await freePort());
  const { PATH = "", HOME, TMPDIR = "/tmp" } = process.env;
  const command = [...genrouter, "serve", ...(words ?? ["--simulate"])];
  const log = Bun.file(`${dir}.log`);
  const fromMono = performance.now();
  const child = Bun.spawn(isPinned ? onServerCore(command) : command, {
    stdin: "ignore",
    // Two handles on one file would overwrite each other; the log goes to standard error.
    stdout: "ignore",
    stderr: log,
    env: {
      ...{ PATH, TMPDIR, ...(HOME ? { HOME } : {}) },
      ...{ GENROUTER_DATA__DIR: dir, GENROUTER_SERVER__PORT: String(port), ...RAISED, ...env },
    },
  });
  alive.add(child);
  void child.exited.then(() => alive.delete(child));
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const seen = await fetch(`${url}/readyz`, { headers: { connection: "close" } }).catch(() => undefined);
    if (seen?.status === 200) break;
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}: ${(await log.text()).slice(-500)}`);
    if (performance.now() - fromMono > PATIENCE_MS) throw new Error("the service did not become ready");
    await Bun.sleep(lookMs);
  }
  return {
    ...{ port, url, pid: child.pid, readyMs: performance.now() - fromMono },
    residentBytes: () => residentBytes(child.pid),
    kill: async () => {
      child.kill("SIGKILL");
      await child.exited;
    },
    stop: async () => {
      child.kill("SIGTERM");
      const code = await child.exited;
      if (code !== 0) throw new Error(`the service ended with ${code}: ${(await log.text()).slice(-500)}`);
    },
  };
};

/** Stocked generations name files that do not exist; each bench checks the files of those that it runs. */
const withoutFiles = async <T>(dir: string, work: () => Promise<T>): Promise<T> => {
  const [files, aside] = [join(dir, "files"), `${dir}-files`];
  const hasFiles = existsSync(files);
  if (hasFiles) renameSync(files, aside);
  try {
    return await work();
  } finally {
    if (hasFiles) renameSync(aside, files);
  }
};

/** Verifies a directory after every bench that writes. @throws if an invariant is violated. */
export const verify = async (dir: string, genrouter: Genrouter = BINARY): Promise<void> => {
  const { code, output: said } = await withoutFiles(dir, () => run(onBothCores([...genrouter, "verify", "--data", dir])));
  if (code !== 0) throw new Error(`verify found something: ${said.slice(-800)}`);
};
/** The same for a database that nodes share. */
export const verifyShared = async (env: Record<string, string>): Promise<void> => {
  const { code, output: said } = await run(onBothCores([...BINARY, "verify"]), env);
  if (code !== 0) throw new Error(`verify found something: ${said.slice(-800)}`);
};
