// Runs commands in parallel, slowest first, and measures duration and CPU time.
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
/** A job that takes longer is killed and fails. */
const LONGEST_MS = 300_000;

export type Job = { name: string; command: readonly string[]; env?: Record<string, string>; expectedS: number };
export type Ended = { job: Job; code: number; out: string; wallMs: number; cpuMs: number };

/** Linux's memory disk, and the space that must be free on it and in memory. */
const MEMORY_DISK = "/dev/shm";
const FREE_BYTES = 6 * 2 ** 30;

/**
 * Parent of the jobs' temporary files: in memory if there is enough, because databases sync at every commit and no test here
 * depends on power loss. Programs that simulate power loss choose their own directory.
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
  // One file for both streams preserves the order of the output.
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
  // CPU time of the command and of the children that it waited for.
  const cpuMs = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000;
  return { job, code, out, wallMs: performance.now() - beganMono, cpuMs };
};

/** Slow jobs start first, so that none of them runs alone at the end. The others run in random order. */
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

/** Tests wait for disks, processes and clocks. While a part of the CPU is idle, one more job starts, up to this many per core. */
const MAX_PER_CORE = 3;
const IDLE_SHARE = 0.2;
const LOOK_MS = 200;

/** @returns a function that returns the fraction of CPU time since its last call that was idle or waited for a disk */
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

/** Runs at least as many jobs in parallel as there are cores. @param onEnded called when a job has ended. */
export const runJobs = async (jobs: readonly Job[], onEnded: (ended: Ended) => void): Promise<Ended[]> => {
  const dir = mkdtempSync(join(scratchParent(), "jobs-"));
  // Same mode as the system's directory, because some tests run a command as another user.
  chmodSync(dir, 0o1777);
  const drop = () => {
    try {
      rmSync(dir, { recursive: true, force: true });
    } catch {
      // A process still writes there. The caller checks whether the directory still exists.
    }
  };
  // Also after an early exit, because remaining files would occupy memory.
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
    if (idle() > IDLE_SHARE && atWork < MAX_PER_CORE * cores) begin();
  }, LOOK_MS);
  if (jobs.length > 0) await all.promise;
  clearInterval(timer);
  // A database that a job left behind may still write while it ends, and new files prevent the removal.
  for (let tries = 0; tries < 50 && existsSync(dir); tries += 1) {
    drop();
    if (existsSync(dir)) await Bun.sleep(100);
  }
  return ended;
};
