// Fixture of the soak: data directory, catalogue with long route timeouts, and simulator and service as separate processes.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUILT_IN_MODELS } from "../../catalogue/built-in.ts";
import { requestFor } from "../../src/cli/control-client.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { settingsLeadingTo } from "../../src/simulator/dialect-registry.ts";
import { endow, type Tenant } from "../../src/torture/crash/crash-fixture.ts";
import { freePort, until } from "../../src/torture/crash/processes.ts";
import { killAtTheEnd } from "../scratch.ts";

const root = join(import.meta.dir, "../..");
export const FROM_SOURCES: readonly string[] = [process.execPath, join(root, "src/main.ts")];

/** Longer than any job of a soak, so that no attempt times out. */
const ROUTE_S = 2_400;
const ACCOUNTS = 25;
const CREDITS_EACH = 1_000_000_000;
const PATIENCE_MS = 60_000;
const READY_LOOK_MS = 2;
/** Short, so that files expire during the soak: it also tests retention. */
const KEEP_FILES_S = 300;

const alive = new Set<ReturnType<typeof Bun.spawn>>();
killAtTheEnd(() => {
  for (const child of alive) child.kill("SIGKILL");
});

const spawn = (words: readonly string[], logPath: string, env: Record<string, string> = {}) => {
  const { PATH = "", HOME, TMPDIR = "/tmp" } = process.env;
  const log = Bun.file(logPath);
  const child = Bun.spawn([...words], {
    stdin: "ignore",
    stdout: log,
    stderr: log,
    // An empty HOME would make Bun keep its cache in the working directory.
    env: { PATH, TMPDIR, ...(HOME ? { HOME } : {}), ...env },
  });
  alive.add(child);
  void child.exited.then(() => alive.delete(child));
  return child;
};

/** Waits for a 200. @returns the time that it took, ms. */
const answers = async (url: string, child: ReturnType<typeof Bun.spawn>): Promise<number> => {
  const fromMono = performance.now();
  while (performance.now() - fromMono < PATIENCE_MS) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode} before ${url} answered`);
    const seen = await fetch(url, { headers: { connection: "close" } }).catch(() => undefined);
    if (seen?.status === 200) return performance.now() - fromMono;
    await Bun.sleep(READY_LOOK_MS);
  }
  throw new Error(`${url} did not answer within ${PATIENCE_MS} ms`);
};

const writeCatalogue = (dir: string): void => {
  mkdirSync(join(dir, "models"), { recursive: true });
  for (const [name, model] of Object.entries(BUILT_IN_MODELS as Record<string, JsonObject & { routes: JsonObject[] }>))
    writeFileSync(
      join(dir, "models", name),
      JSON.stringify({ ...model, routes: model.routes.map((route) => ({ ...route, timeout_s: ROUTE_S })) }),
    );
};

export type Running = {
  pid: number;
  /** From the start of the process to the first 200 of `/readyz`, ms. */
  readyMs: number;
  kill(): Promise<void>;
  /** Stops the service as an operator would. @returns its exit code. */
  stop(): Promise<number>;
};

export type Place = {
  dir: string;
  url: string;
  tenants: readonly Tenant[];
  /** All log output of the service, over all its processes. */
  serviceLogs(): string;
  startService(): Promise<Running>;
  /** Path of the simulator's log. */
  providerLog: string;
  close(): Promise<void>;
};

/** Prepares the directory and starts the simulator. @param genrouter the words before the command. */
export const openPlace = async (genrouter: readonly string[], home: string, seed: number): Promise<Place> => {
  const dir = join(home, "data");
  const catalogue = join(home, "catalogue");
  const providerLog = join(home, "provider.log");
  writeCatalogue(catalogue);
  const tenants = await endow(dir, Array<number>(ACCOUNTS).fill(CREDITS_EACH));
  const ports = { simulator: await freePort(), service: await freePort() };
  const simulatorUrl = `http://127.0.0.1:${ports.simulator}`;
  const url = `http://127.0.0.1:${ports.service}`;
  const words = ["simulator", "--port", String(ports.simulator), "--seed", String(seed % 1_000_000), "--log", providerLog];
  const simulator = spawn([...genrouter, ...words], join(home, "simulator.out"));
  await answers(`${simulatorUrl}/healthz`, simulator);
  let lives = 0;
  const env = {
    GENROUTER_DATA__DIR: dir,
    GENROUTER_CATALOGUE__DIR: catalogue,
    GENROUTER_SERVER__PORT: String(ports.service),
    ...settingsLeadingTo(simulatorUrl),
    GENROUTER_LIMITS__BURST_PER_S: "1000000",
    GENROUTER_LIMITS__IN_PROGRESS: "1000000",
    GENROUTER_LIMITS__MAX_RUNNING: "20000",
    GENROUTER_LIMITS__MAX_RUNNING_PER_ROUTE: "20000",
    GENROUTER_LIMITS__FILE_RETENTION_S: String(KEEP_FILES_S),
  };
  return {
    dir,
    url,
    tenants,
    providerLog,
    serviceLogs: () =>
      readdirSync(home)
        .filter((name) => name.startsWith("service."))
        .map((name) => readFileSync(join(home, name), "utf8"))
        .join(""),
    startService: async () => {
      lives += 1;
      const child = spawn([...genrouter, "serve", "--simulate"], join(home, `service.${lives}.log`), env);
      const readyMs = await answers(`${url}/readyz`, child);
      // Another process may have taken the port meanwhile and may respond in place of the service.
      const about = await until("the service's own word", () => requestFor(dir));
      if (about.pid !== child.pid) throw new Error(`${url} is answered by another process; start the soak again`);
      return {
        pid: child.pid,
        readyMs,
        kill: async () => {
          child.kill("SIGKILL");
          await child.exited;
        },
        stop: async () => {
          child.kill("SIGTERM");
          return await child.exited;
        },
      };
    },
    close: async () => {
      simulator.kill("SIGTERM");
      await simulator.exited;
    },
  };
};
