// Fixture of disk-fault tests: a service on a failing disk, with its directory, account, submissions and final checks.
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import {
  type Answer,
  ask,
  endow,
  listening,
  reading,
  type ServicePlace,
  spawnServing,
  type Tenant,
} from "../../src/torture/crash/crash-fixture.ts";
import { BINARY, type Child, type Ended, run } from "../../src/torture/crash/processes.ts";
import { buildShim } from "../fault-injection/build.ts";
import { endScratch, makeScratch } from "../scratch.ts";
import type { RowWorld } from "./table.ts";

export const SPEED = 200;
const CREDITS = 1_000_000;
const ENDS_MS = 20_000;
const BOARD_NUMBERS = 8;
const ARMED = 4;
/** Positions on the shim's board: see the head of faultfs.c. */
export type Board = {
  path: string;
  arm: (isArmed: boolean) => void;
  read: () => { writes: number; syncs: number; struck: number };
};

export const openBoard = (path: string): Board => {
  const set = (isArmed: boolean) => {
    const file = openSync(path, "r+");
    writeSync(file, BigUint64Array.of(isArmed ? 1n : 0n), 0, 8, ARMED * 8);
    closeSync(file);
  };
  writeFileSync(path, new BigUint64Array(BOARD_NUMBERS));
  set(true);
  return {
    path,
    arm: set,
    read: () => {
      const numbers = new BigUint64Array(new Uint8Array(readFileSync(path)).buffer);
      return { writes: Number(numbers[0]), syncs: Number(numbers[1]), struck: Number(numbers[2]) };
    },
  };
};

export type Life = {
  child: Child;
  url: string;
  /** Undefined while it runs. */
  end: () => Ended | undefined;
};

export const fail = (why: string): never => {
  throw new Error(why);
};
export const must = (isTrue: boolean, why: string): void => {
  if (!isTrue) fail(why);
};

export type Scene = Awaited<ReturnType<typeof openScene>>;

/** @param where The data directory; a new one if absent. */
const openScene = async ({ simulator, say }: RowWorld, where?: string) => {
  const base = makeScratch("faults-");
  const dir = where ?? join(base, "data");
  mkdirSync(dir, { recursive: true });
  const [tenant = fail("no tenant")]: Tenant[] = await endow(dir, [CREDITS]);
  const acked = new Map<string, string>();
  const mark = `f${Math.random().toString(36).slice(2, 10)}`;
  const lives: Child[] = [];
  let sent = 0;

  /** The environment of a service with a failing disk, and the board that observes and controls it. */
  const faulty = (settings: Record<string, string>): { env: Record<string, string>; board: Board } => {
    const board = openBoard(join(base, `board-${lives.length}`));
    const shim = { LD_PRELOAD: buildShim("faultfs", say), FAULTFS_DIR: dir, FAULTFS_BOARD: board.path };
    return {
      env: { ...shim, ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [`FAULTFS_${name}`, value])) },
      board,
    };
  };
  const place = (env: Record<string, string>): ServicePlace => ({
    dir,
    simulatorUrl: simulator.url,
    speed: SPEED,
    env: { GENROUTER_LOG__LEVEL: "warn", GENROUTER_LIMITS__IN_PROGRESS: "1000", ...env },
  });
  /** Starts the binary; `before`: shell commands that run first. Does not wait. */
  const spawn = (env: Record<string, string> = {}, before = ""): Child => {
    const words = [...BINARY, "serve", "--simulate"];
    const child = spawnServing(before === "" ? words : ["sh", "-c", `${before}; exec "$@"`, "sh", ...words], place(env));
    lives.push(child);
    return child;
  };
  const start = async (env: Record<string, string> = {}, before = ""): Promise<Life> => {
    const { child, url } = await listening(spawn(env, before));
    let ended: Ended | undefined;
    void child.ended.then((end) => {
      ended = end;
    });
    return { child, url, end: () => ended };
  };

  /** Submits once, and records the acknowledgement for the final check. */
  const submit = async (url: string, more: { padding?: number; key?: string } = {}): Promise<Answer | undefined> => {
    const key = more.key ?? `${mark}-${++sent}`;
    const prompt = `${key} ${"x".repeat(more.padding ?? 0)}`;
    const body = JSON.stringify({ model: "sim-image-1", input: { prompt, quality: "low" } });
    const answer = await ask(url, tenant.key, { path: "/v1/generations", body, idempotencyKey: key });
    if (answer?.status === 202 || answer?.status === 200) acked.set(key, String(answer.body.id));
    return answer;
  };
  const get = (url: string, id: string) => ask(url, tenant.key, { path: `/v1/generations/${id}` });
  const unfinished = () => reading(dir, async (reads) => (await reads.unfinished(0, 10_000)).length);
  const account = () => reading(dir, async (reads) => (await reads.account(tenant.accountId)) ?? fail("the account is gone"));

  const stop = async (life: Life): Promise<Ended> => {
    life.child.kill("SIGTERM");
    return life.child.ended;
  };

  /** Waits until a process exits by itself. */
  const ends = async (life: Life): Promise<Ended> =>
    (await Promise.race([life.child.ended, Bun.sleep(ENDS_MS)])) ??
    fail(`it still runs ${ENDS_MS} ms later: ${life.child.output().slice(-500)}`);

  /**
   * With no process running: acknowledgements are stored, no job was purchased twice, credits are conserved, `verify` is clean.
   */
  const holds = async (): Promise<void> => {
    await reading(dir, async (reads) => {
      for (const [key, id] of acked)
        must((await reads.findGeneration(id)) !== undefined, `${key} was acknowledged as ${id} and is gone`);
      for (const { ok, name, offending } of await reads.verify(null))
        must(ok, `${name}: ${JSON.stringify(offending).slice(0, 500)}`);
      const { availableCredits, heldCredits, chargedCredits } = await account();
      must(availableCredits + heldCredits + chargedCredits === CREDITS, "credits are not conserved");
    });
    const jobs = new Map<string, number>();
    for (const line of await simulator.submissions(mark))
      if (line.accepted) {
        // Another provider may have one more job, after the first attempt was given up.
        const key = `${line.provider} ${/f[a-z0-9]+-\d+/.exec(JSON.stringify(line.input))?.[0]}`;
        jobs.set(key, (jobs.get(key) ?? 0) + 1);
      }
    for (const [key, count] of jobs) must(count === 1, `${key}: ${count} jobs were purchased`);
  };

  /** The next start is clean, every generation ends, and the command `verify` is clean. */
  const recovers = async (): Promise<void> => {
    await holds();
    const life = await start();
    await settles(life);
    const { code, signal } = await stop(life);
    must(code === 0, `the next life ended with ${signal ?? code}: ${life.child.output().slice(-800)}`);
    await holds();
    const verified = await run([...BINARY, "verify", "--data", dir]);
    must(verified.code === 0, `verify: exit ${verified.code}: ${verified.output.slice(0, 800)}`);
  };
  const settles = async (life: Life, patienceMs = 30_000): Promise<void> => {
    const endMono = performance.now() + patienceMs;
    while ((await unfinished()) > 0) {
      if (life.end()) fail(`it ended with ${life.end()?.code}: ${life.child.output().slice(-800)}`);
      if (performance.now() > endMono) fail(`${await unfinished()} generations did not end`);
      await Bun.sleep(30);
    }
    must((await account()).heldCredits === 0, "credits are held for nothing");
  };
  /** @param isEvidence A fault was found: the files stay. */
  const close = (isEvidence: boolean) => {
    for (const child of lives) child.kill("SIGKILL");
    endScratch(base, isEvidence, say);
  };
  return {
    dir,
    base,
    mark,
    tenant,
    acked,
    faulty,
    place,
    spawn,
    start,
    submit,
    get,
    account,
    unfinished,
    stop,
    ends,
    holds,
    recovers,
    settles,
    close,
  };
};

/** Runs `play` in its own scene. @param where As in `openScene`. */
export const withScene = async <T>(world: RowWorld, play: (scene: Scene) => Promise<T>, where?: string): Promise<T> => {
  const scene = await openScene(world, where);
  let isEvidence = true;
  try {
    const note = await play(scene);
    isEvidence = false;
    return note;
  } finally {
    scene.close(isEvidence);
  }
};
