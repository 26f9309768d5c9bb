// Sides over HTTP: the service with its accounts, and a rung of the ladder.
import { Database } from "bun:sqlite";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { dropScratch, killAtTheEnd, makeScratch } from "../scratch.ts";
import { onServerCore } from "./machine.ts";
import type { Side } from "./rounds.ts";
import { ACCOUNTS, BODY, keyOf, STORED } from "./rungs/parts.ts";
import { endow, type Service, type ServiceOptions, startService, type Tenant, verify } from "./service.ts";
import { copyStocked, makeStocked, type StockedHome } from "./stock.ts";

export const headOf = (line: string, key: string, more = ""): string =>
  `${line} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\n${more}`;
const JSON_BODY = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(BODY)}\r\n`;

/** A stream of submissions, over all accounts in turn. */
export const submissions = (keys: readonly string[]): Side["streams"][number] => ({
  heads: keys.map((key) => headOf("POST /v1/generations", key, JSON_BODY)),
  isKeyed: true,
  body: BODY,
});
/** A stream of polls, each of one of these. */
export const polls = (seen: readonly { id: string; key: string }[]): Side["streams"][number] => ({
  heads: seen.map(({ id, key }) => headOf(`GET /v1/generations/${id}`, key)),
  isKeyed: false,
  body: "",
});

/** Whether a body is a generation's. */
export const isGeneration = (body: string): boolean => (JSON.parse(body) as { object?: string }).object === "generation";

let filled: Promise<StockedHome> | undefined;
/** A new directory with accounts and as many stored as every rung has: filled once, then copied. */
export const homeWithStored = async (): Promise<StockedHome> => {
  filled ??= makeStocked(STORED, "succeeded", {});
  // After a failure for lack of space, the next caller tries again.
  filled.catch(() => {
    filled = undefined;
  });
  return copyStocked(await filled);
};
type Fill = (dir: string, tenants: readonly Tenant[]) => Promise<void>;
const NOTHING: Fill = async () => undefined;
const homeWithAccounts = async (fill: Fill): Promise<Omit<StockedHome, "seen">> => {
  const home = makeScratch("bench-service-");
  const dir = join(home, "data");
  const tenants = await endow(dir, ACCOUNTS);
  await fill(dir, tenants);
  return { dir, tenants, drop: () => dropScratch(home) };
};

/** @throws unless a database has a row for each 202. */
export const requireRows = (side: string, path: string, accepted: number): void => {
  const db = new Database(path, { readonly: true });
  const rows = db.query<{ count: number }, []>("SELECT count(*) AS count FROM generation").get()?.count ?? 0;
  db.close();
  if (rows < STORED + accepted)
    throw new Error(`${side} said of ${accepted} that they are stored, and has ${rows - STORED} rows`);
};

/** Stores a response for a rung that repeats it: `text:` its body, `copy:` also its headers. @returns the file. */
export const keepAnswer = async (response: Response): Promise<string> => {
  const path = join(makeScratch("bench-answer-"), "answer.json");
  writeFileSync(path, JSON.stringify({ body: await response.text(), headers: [...response.headers] }));
  return path;
};

const alive = new Set<ReturnType<typeof Bun.spawn>>();
/** Kills the rungs that a failed bench left. */
export const killRungs = (): void => {
  for (const child of alive) child.kill("SIGKILL");
};
killAtTheEnd(killRungs);

export type Rung = { dir: string; port: number; pid: number; keys: readonly string[]; stop(): void };

const SERVER = join(import.meta.dir, "rungs/server.ts");

/** Starts a rung of the ladder on the measured core. @param script another server of the same kind. */
export const startRung = async (name: string, script = SERVER): Promise<Rung> => {
  const dir = makeScratch("bench-rung-");
  const child = Bun.spawn(onServerCore([process.execPath, script, name, dir]), {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
    // The same mode as that of the binary and of the compared ladder.
    env: { ...process.env, NODE_ENV: "production" },
  });
  alive.add(child);
  let said = "";
  for await (const chunk of child.stdout) {
    said += new TextDecoder().decode(chunk);
    const port = /^ready (\d+)$/m.exec(said)?.[1];
    if (port !== undefined)
      return {
        ...{ dir, port: Number(port), pid: child.pid, keys: Array.from({ length: ACCOUNTS }, (_, account) => keyOf(account)) },
        stop: () => {
          child.kill("SIGKILL");
          alive.delete(child);
          dropScratch(dir);
        },
      };
  }
  throw new Error(`the rung ${name} ended early: ${said}`);
};

/** Generations stay queued: the bench measures admission and ledger, not provider calls. */
export const IN_LINE = { GENROUTER_LIMITS__MAX_RUNNING: "1", GENROUTER_SIMULATOR__SPEED: "0.0001" };

export type Stage = { dir: string; tenants: readonly Tenant[]; service: Service; keys: readonly string[] };

/**
 * Starts the service on a new directory with 5,000 accounts, does the work, stops it and verifies what it wrote.
 * @param fill fills the directory before the start; `stored`: with as many as every rung has.
 * @param more adds to the directory that was filled.
 */
export const withService = async <T>(
  options: Omit<ServiceOptions, "dir">,
  work: (stage: Stage) => Promise<T>,
  fill: "stored" | Fill = NOTHING,
  more: Fill = NOTHING,
): Promise<T> => {
  const { dir, tenants, drop } = await (fill === "stored" ? homeWithStored() : homeWithAccounts(fill));
  await more(dir, tenants);
  const service = await startService({ dir, ...options });
  let done: T;
  try {
    done = await work({ dir, tenants, service, keys: tenants.map(({ key }) => key) });
  } catch (fault) {
    await service.kill();
    throw fault;
  }
  await service.stop();
  await verify(dir, options.genrouter);
  drop();
  return done;
};

/** Submits `count` over HTTP before a measurement. @param tag of the idempotency keys. @returns the ids with their API keys. */
export const submitSome = async (
  { service, keys }: Stage,
  count: number,
  tag = "fill",
): Promise<{ id: string; key: string }[]> => {
  const made: { id: string; key: string }[] = [];
  const one = async (from: number, step: number) => {
    for (let n = from; n < count; n += step) {
      const key = keys[n % keys.length] ?? "";
      const response = await fetch(`${service.url}/v1/generations`, {
        ...{ method: "POST", body: BODY },
        headers: { authorization: `Bearer ${key}`, "idempotency-key": `${tag}-${n}` },
      });
      const shown = (await response.json()) as { id?: string };
      if (response.status !== 202 || shown.id === undefined) throw new Error(`a submission was answered ${response.status}`);
      made.push({ id: shown.id, key });
    }
  };
  const AT_A_TIME = 32;
  await Promise.all(Array.from({ length: AT_A_TIME }, (_, from) => one(from, AT_A_TIME)));
  return made;
};
