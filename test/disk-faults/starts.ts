// Disk-fault rows about starts: an unwritable directory, damage, a missing log, a second process, too few descriptors.
import { spawnSync } from "node:child_process";
import { chmodSync, closeSync, cpSync, existsSync, openSync, renameSync, statSync, writeSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { EXITS } from "../../src/cli/exit-codes.ts";
import { BINARY, type Child, run } from "../../src/torture/crash/processes.ts";
import { mountSmallDisk } from "./disks.ts";
import { fail, must, type Scene, withScene } from "./fixture.ts";
import type { Row, RowWorld } from "./table.ts";

const endsWith = async (child: Child, code: number, pattern: RegExp): Promise<void> => {
  const end = await Promise.race([child.ended, Bun.sleep(15_000)]);
  if (!end) return fail(`it started: ${child.output().slice(-300)}`);
  must(end.code === code, `exit ${end.signal ?? end.code}, not ${code}: ${child.output().slice(-500)}`);
  must(pattern.test(child.output()), `it does not say ${pattern}: ${child.output().slice(-500)}`);
};

/** Does some work with a service, then kills it or stops it with SIGTERM. */
const used = async (scene: Scene, isStopped: boolean): Promise<void> => {
  const life = await scene.start();
  for (let n = 0; n < 12; n += 1) await scene.submit(life.url);
  await scene.settles(life);
  if (isStopped) await scene.stop(life);
  else {
    life.child.kill("SIGKILL");
    await life.child.ended;
  }
};

const UNPRIVILEGED_ID = 65_534;
/** Root may write to a directory that is read-only for others: this needs a read-only mount, or another user. */
const readOnly = async (world: RowWorld): Promise<unknown> => {
  const disk = mountSmallDisk("16m");
  if (typeof disk !== "string")
    try {
      return await withScene(
        world,
        async (scene) => {
          disk.remount("ro");
          await endsWith(scene.spawn(), EXITS.unwritable, /cannot be written \(EROFS\)/);
          disk.remount("rw");
          await scene.recovers();
          return "a read-only mount";
        },
        disk.path,
      );
    } finally {
      disk.drop();
    }
  return withScene(world, async (scene) => {
    chmodSync(scene.dir, 0o500);
    const isRoot = process.getuid?.() === 0;
    if (isRoot && Bun.which("setpriv") === null)
      fail(`nothing here makes a directory read-only for root: ${disk}, and no setpriv`);
    if (isRoot) {
      chmodSync(scene.base, 0o755);
      spawnSync("chmod", ["755", scene.dir]);
    }
    const before = isRoot ? `set -- setpriv --reuid=${UNPRIVILEGED_ID} --regid=${UNPRIVILEGED_ID} --clear-groups "$@"` : "";
    await endsWith(scene.spawn({}, before), EXITS.unwritable, /cannot be written \(E/);
    chmodSync(scene.dir, 0o700);
    await scene.recovers();
    return `${disk}; as a user without write permission`;
  });
};

const PAGE = 4096;
const damaged = (world: RowWorld) =>
  withScene(world, async (scene) => {
    await used(scene, true);
    const [path, backup] = [join(scene.dir, "genrouter.db"), join(scene.base, "backup")];
    cpSync(scene.dir, backup, { recursive: true });
    const file = openSync(path, "r+");
    // Every other page of the second half, which includes rows and inner pages.
    for (let page = Math.floor(statSync(path).size / PAGE / 2); page < statSync(path).size / PAGE - 1; page += 2)
      writeSync(file, new Uint8Array(PAGE).fill(0xa5), 0, PAGE, page * PAGE);
    closeSync(file);
    await endsWith(scene.spawn(), EXITS.usage, /damaged .*restore a backup/);
    const verified = await run([...BINARY, "verify", "--data", scene.dir]);
    must(
      verified.code !== 0 && /damaged|malformed/.test(verified.output),
      `verify: exit ${verified.code}: ${verified.output.slice(0, 300)}`,
    );
    cpSync(join(backup, "genrouter.db"), path);
    await scene.recovers();
  });

const logGone = (world: RowWorld) =>
  withScene(world, async (scene) => {
    await used(scene, false);
    const log = join(scene.dir, "genrouter.db-wal");
    must(existsSync(log), "a killed service leaves its log");
    renameSync(log, `${log}.moved`);
    await endsWith(scene.spawn(), EXITS.usage, /genrouter\.db-wal is missing .*restore a backup/);
    const verified = await run([...BINARY, "verify", "--data", scene.dir]);
    must(
      verified.code === EXITS.usage && /is missing/.test(verified.output),
      `verify: exit ${verified.code}: ${verified.output.slice(0, 300)}`,
    );
    renameSync(`${log}.moved`, log);
    await scene.recovers();
  });

const second = (world: RowWorld) =>
  withScene(world, async (scene) => {
    const first = await scene.start();
    must((await scene.submit(first.url))?.status === 202, "the first does not work");
    await endsWith(scene.spawn(), EXITS.tryAgain, /already running as pid/);
    must((await scene.submit(first.url))?.status === 202 && first.end() === undefined, "the first was harmed");
    await scene.settles(first);
    await scene.stop(first);
    await scene.recovers();
  });

const DESCRIPTORS = 64;
const CALLERS = 40;
/** Idle connections: more than there are descriptors. */
const IDLERS = 90;
const HELD_MS = 1500;
const RECOVERS_MS = 60_000;

/** Occupies every descriptor that the service can have. @returns a function that releases them. */
const occupy = async (url: string): Promise<() => void> => {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: IDLERS }, () => connect(Number(port), hostname).on("error", () => undefined));
  await Bun.sleep(HELD_MS);
  return () => {
    for (const socket of sockets) socket.destroy();
  };
};

/**
 * Callers occupy every descriptor during work. Requests may fail meanwhile, but nothing is lost and the service does not exit.
 */
const descriptors = (world: RowWorld) =>
  withScene(world, async (scene) => {
    const life = await scene.start({}, `ulimit -n ${DESCRIPTORS}`);
    const calls = Array.from({ length: CALLERS }, () => scene.submit(life.url));
    const leave = await occupy(life.url);
    // By then the service has released its reserve and stopped listening, so open sockets prove nothing.
    const isExhausted = life.child.output().includes('"file descriptors exhausted"');
    leave();
    for (const answer of await Promise.all(calls))
      must(
        answer === undefined || answer.status === 202 || answer.status === 503,
        `answered ${answer?.status} ${JSON.stringify(answer?.body)}`,
      );
    const endMono = performance.now() + RECOVERS_MS;
    while ((await scene.submit(life.url))?.status !== 202) {
      must(life.end() === undefined, `it ended with ${life.end()?.code}: ${life.child.output().slice(-500)}`);
      must(performance.now() < endMono, `it takes no submission ${RECOVERS_MS} ms later: ${life.child.output().slice(-500)}`);
      await Bun.sleep(200);
    }
    await scene.settles(life, RECOVERS_MS);
    must(isExhausted, `some of ${DESCRIPTORS} descriptors were left: the row proves nothing`);
    await scene.stop(life);
    await scene.recovers();
  });

const failsAtStart = (world: RowWorld) =>
  withScene(world, async (scene) => {
    const { env } = scene.faulty({ FAIL_SYNC_AT: "1", TIMES: "on", MATCH: "genrouter.db" });
    await endsWith(scene.spawn(env), 70, /the disk failed while it was opened/);
    await scene.recovers();
  });

/** Two processes may hold the locks of such a disk; an operator can allow it. */
const networkDisk = (world: RowWorld) =>
  withScene(world, async (scene) => {
    const { env } = scene.faulty({ TYPE: "0x6969" });
    await endsWith(scene.spawn(env), EXITS.unwritable, /network file system \(NFS\).*GENROUTER_DATA__NETWORK_DISK/);
    const life = await scene.start({ ...env, GENROUTER_DATA__NETWORK_DISK: "true" });
    must((await scene.submit(life.url))?.status === 202, "it does not work although it was allowed");
    await scene.settles(life);
    await scene.stop(life);
    await scene.recovers();
  });

export const STARTS: readonly Row[] = [
  { name: "read-only", says: "a directory that cannot be written: exit 78", play: readOnly },
  { name: "damaged-page", says: "damaged pages: the start is rejected and names a backup", play: damaged },
  { name: "log-gone", says: "a log deleted after a crash: the start is rejected, and verify reports it", play: logGone },
  { name: "network-disk", says: "a network file system: exit 78, unless the operator allows it", play: networkDisk },
  { name: "second", says: "a second process: exit 75, and the first is unharmed", play: second },
  { name: "descriptors", says: "64 descriptors: the service does not exit, loses nothing, and works again", play: descriptors },
  { name: "start-fails", says: "a disk that fails at the start: exit 70, and the next start is clean", play: failsAtStart },
];
