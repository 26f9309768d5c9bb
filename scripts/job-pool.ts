// Runs commands several at a time, the slowest first, and measures how long each took and how much processor time it used.
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { availableParallelism, cpus, freemem, tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "..");
/** One that hangs is ended, and has failed. */
const LONGEST_MS = 300_000;

export type Job = { name: string; command: readonly string[]; env?: Record<string, string>; expectedS: number };
export type Ended = { job: Job; code: number; out: string; wallMs: number; cpuMs: number };

/** Linux's disk in memory, and what has to be free of it and of the memory behind it. */
const MEMORY_DISK = "/dev/shm";
const FREE_BYTES = 6 * 2 ** 30;

/**
 * Where jobs put what they make: in memory where there is plenty, because a database syncs at every commit and no promise of theirs depends
 * on the power. The programs that cut it choose their own place.
 */
const scratchParent = (): string => {
  try {
    accessSync(MEMORY_DISK, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY_DISK);
    return Math.min(bavail * bsize, freemem()) >= FREE_BYTES ? MEMORY_DISK : tmpdir();
  } catch {
    return tmpdir();
  }
};

const running = new Set<Bun.Subprocess>();
const endAll = () => {
  for (const child of running) child.kill("SIGKILL");
};
process.on("exit", endAll);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(signal === "SIGINT" ? 130 : 143));

const runJob = async (job: Job, dir: string, n: number): Promise<Ended> => {
  const path = join(dir, String(n));
  // One file for both streams, which keeps the order of what was printed.
  const file = openSync(path, "a");
  const beganMono = performance.now();
  const child = Bun.spawn([...job.command], {
    cwd: root,
    ...{ stdin: "ignore", stdout: file, stderr: file },
    env: { ...process.env, NODE_ENV: "test", TMPDIR: dir, ...job.env },
  });
  running.add(child);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, LONGEST_MS);
  const code = await child.exited;
  clearTimeout(timer);
  running.delete(child);
  closeSync(file);
  const said = readFileSync(path, "utf8");
  const out = isLate ? `${said}\nended after ${LONGEST_MS / 1000} s without an end of its own\n` : said;
  // Of the command and of what it started and waited for.
  const cpuMs = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000;
  return { job, code, out, wallMs: performance.now() - beganMono, cpuMs };
};

/** In random order, but for those that are known to take long: they begin, so that none of them runs on alone at the end. */
const SLOW_S = 2;
const inOrder = (jobs: readonly Job[]): Job[] => {
  const slow = jobs.filter(({ expectedS }) => expectedS >= SLOW_S).sort((a, b) => b.expectedS - a.expectedS);
  const others = jobs.filter(({ expectedS }) => expectedS < SLOW_S);
  for (let i = others.length - 1; i > 0; i -= 1) {
    const j = Math.floor(Math.random() * (i + 1));
    [others[i], others[j]] = [others[j] as Job, others[i] as Job];
  }
  return [...slow, ...others];
};

/** Tests wait for disks, processes and clocks: while a part of the processors has nothing to do, one more begins, up to so many a core. */
const MOST_PER_CORE = 3;
const IDLE_SHARE = 0.2;
const LOOK_MS = 200;

/** @returns what tells the share of all processors' time since it was asked before in which they did nothing, or waited for a disk */
const openIdle = (): (() => number) => {
  const read = () => ({
    atMs: performance.now(),
    busyMs: cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0),
  });
  let before = read();
  return () => {
    const now = read();
    const share = 1 - (now.busyMs - before.busyMs) / ((now.atMs - before.atMs) * availableParallelism());
    before = now;
    return share;
  };
};

/** At least as many at a time as there are cores. @param onEnded is called as each ends. */
export const runJobs = async (jobs: readonly Job[], onEnded: (ended: Ended) => void): Promise<Ended[]> => {
  const dir = mkdtempSync(join(scratchParent(), "jobs-"));
  // As the system's own: some tests run a command as another user.
  chmodSync(dir, 0o1777);
  const drop = () => {
    try {
      rmSync(dir, { recursive: true, force: true });
    } catch {
      // Somebody still writes there: whoever asks sees that it is not gone.
    }
  };
  // Also when it is ended early: what stays there would be memory that nobody gives back.
  process.once("exit", drop);
  const waiting = inOrder(jobs);
  const ended: Ended[] = [];
  const cores = availableParallelism();
  const all = Promise.withResolvers<void>();
  let atWork = 0;
  const begin = () => {
    const job = waiting.shift();
    if (!job) return;
    atWork += 1;
    void runJob(job, dir, jobs.indexOf(job)).then((one) => {
      atWork -= 1;
      ended.push(one);
      onEnded(one);
      if (atWork < cores) begin();
      if (ended.length === jobs.length) all.resolve();
    }, all.reject);
  };
  for (let n = 0; n < cores; n += 1) begin();
  const idle = openIdle();
  const timer = setInterval(() => {
    if (idle() > IDLE_SHARE && atWork < MOST_PER_CORE * cores) begin();
  }, LOOK_MS);
  if (jobs.length > 0) await all.promise;
  clearInterval(timer);
  // A database that a job left behind still writes while it ends, and what is written anew stops the removal.
  for (let tries = 0; tries < 50 && existsSync(dir); tries += 1) {
    drop();
    if (existsSync(dir)) await Bun.sleep(100);
  }
  return ended;
};
