// Disk-fault rows about space: a full disk, a file size limit, and a disk that rejects result files for a while.
import { join } from "node:path";
import { reading } from "../../src/torture/crash/crash-fixture.ts";
import { mountSmallDisk } from "./disks.ts";
import { type Life, must, type Scene, withScene } from "./fixture.ts";
import type { Row, RowWorld } from "./table.ts";

const MOST_SUBMISSIONS = 800;
const AT_ONCE = 4;
const PADDING = 3000;
const SMALL_MIB = 3;
/** One block: smaller than the files of one generation of these rows. */
const TINY = "4k";
const QUICK_MS = 1000;

const wait = async (what: string, isSo: () => boolean | Promise<boolean>, patienceMs = 20_000): Promise<void> => {
  const endMono = performance.now() + patienceMs;
  while (!(await isSo())) {
    must(performance.now() < endMono, `${what} did not happen within ${patienceMs} ms`);
    await Bun.sleep(20);
  }
};

/** Submits until the service returns 503 busy. */
const fill = async (scene: Scene, life: Life): Promise<void> => {
  let sent = 0;
  let refused: string | undefined;
  const caller = async () => {
    while (refused === undefined && sent < MOST_SUBMISSIONS) {
      sent += 1;
      const key = `${scene.mark}-${sent}`;
      const answer = await scene.submit(life.url, { padding: PADDING, key });
      must(answer !== undefined, `no answer; the service ${life.end() ? "ended" : "runs"}: ${life.child.output().slice(-500)}`);
      if (answer?.status === 202) continue;
      must(
        answer?.status === 503 && JSON.stringify(answer.body).includes('"busy"'),
        `answered ${answer?.status} ${JSON.stringify(answer?.body)}`,
      );
      refused = key;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
  must(refused !== undefined, `the disk took ${sent} submissions and was not full`);
  const known = await reading(scene.dir, (reads) => reads.generationByKey(scene.tenant.accountSeq, refused ?? ""));
  must(known === undefined, "a rejected submission is stored and holds credits");
};

const fillsUp = async (scene: Scene, life: Life, freeSpace: () => void): Promise<void> => {
  await fill(scene, life);
  for (const id of [...scene.acked.values()].slice(0, 20)) {
    const beganMono = performance.now();
    const seen = await scene.get(life.url, id);
    must(seen?.status === 200, `GET on a full disk: ${seen?.status}`);
    must(performance.now() - beganMono < QUICK_MS, "GET on a full disk is slow");
  }
  must(life.end() === undefined, "the service ended on a full disk");
  freeSpace();
  await scene.settles(life);
  await wait("a submission accepted again", async () => (await scene.submit(life.url))?.status === 202);
  await scene.settles(life);
  const { code } = await scene.stop(life);
  must(code === 0, `it stopped with ${code}`);
  await scene.recovers();
};

const onSmallDisk = async (world: RowWorld): Promise<string> => {
  const disk = mountSmallDisk(`${SMALL_MIB}m`);
  if (typeof disk === "string") return `no tmpfs (${disk}); ${await onBudget(world)}`;
  const play = async (scene: Scene) => fillsUp(scene, await scene.start(), () => disk.remount("size=256m"));
  await withScene(world, play, disk.path).finally(disk.drop);
  return "tmpfs";
};

const onBudget = (world: RowWorld): Promise<string> =>
  withScene(world, async (scene) => {
    const { env, board } = scene.faulty({ BUDGET: String(SMALL_MIB * 1024 * 1024) });
    await fillsUp(scene, await scene.start(env), () => board.arm(false));
    return "answered by the shim";
  });

const BLOCKS = 1500;
const boundOnFiles = (world: RowWorld): Promise<void> =>
  withScene(world, async (scene) => {
    const life = await scene.start({}, `ulimit -f ${BLOCKS}`);
    for (let n = 0; n < MOST_SUBMISSIONS && !life.end(); n += 1) await scene.submit(life.url, { padding: PADDING });
    const end = await scene.ends(life);
    must(end.code === 70, `ended with ${end.signal ?? end.code}, not 70`);
    await scene.recovers();
  });

/** The number of generations whose files were refused storage. */
const refusals = (scene: Scene): Promise<number> =>
  reading(scene.dir, async (reads) => {
    let count = 0;
    for (const id of scene.acked.values()) {
      const record = await reads.findGeneration(id);
      const events = record ? await reads.eventsOf(record.seq) : [];
      if (events.some(({ event }) => event.type === "storageRefused")) count += 1;
    }
    return count;
  });

/** Result files are rejected while everything else is written: generations wait, no route is given up, nothing is charged. */
const resultsWait = async (scene: Scene, env: Record<string, string>, heal: () => void): Promise<void> => {
  const life = await scene.start(env);
  for (let n = 0; n < 3; n += 1) must((await scene.submit(life.url))?.status === 202, "a submission was not accepted");
  await wait("a refusal for each", async () => (await refusals(scene)) === scene.acked.size);
  for (const id of scene.acked.values()) {
    const seen = await scene.get(life.url, id);
    must(seen?.body.status === "running", `shown ${seen?.body.status} while its files cannot be kept`);
  }
  heal();
  await scene.settles(life);
  for (const id of scene.acked.values()) {
    const seen = await scene.get(life.url, id);
    must(seen?.body.status === "succeeded", `ended ${seen?.body.status}`);
    must(seen?.body.attempts === 1, `took ${seen?.body.attempts} attempts: a route was given up`);
  }
  await scene.stop(life);
  await scene.recovers();
};

const resultsUnsynced = (world: RowWorld, code: string, match = "/files/"): Promise<void> =>
  withScene(world, async (scene) => {
    const { env, board } = scene.faulty({ FAIL_SYNC_AT: "1", TIMES: "on", MATCH: match, ERRNO: code });
    await resultsWait(scene, env, () => board.arm(false));
  });

const resultsFull = (world: RowWorld): Promise<string> =>
  withScene(world, async (scene) => {
    const disk = mountSmallDisk(TINY, join(scene.dir, "files"));
    if (typeof disk === "string") {
      await resultsUnsynced(world, "ENOSPC");
      return `no tmpfs (${disk}); answered by the shim when they are synced`;
    }
    await resultsWait(scene, {}, () => disk.remount("size=64m")).finally(disk.drop);
    return "tmpfs";
  });

export const SPACE: readonly Row[] = [
  {
    name: "full-disk",
    says: "a full disk: 503 busy without holds, reads continue, and all generations end when there is space",
    play: onSmallDisk,
  },
  { name: "no-space", says: "ENOSPC from every file that grows: the same behaviour", play: onBudget },
  { name: "file-size", says: "a file size limit: exit 70, and the next start is clean", play: boundOnFiles },
  {
    name: "results-full",
    says: "no space for result files: generations wait for it, and no route is given up",
    play: resultsFull,
  },
  {
    name: "results-sync",
    says: "result files that cannot be synced are not delivered until the disk works again",
    play: (world) => resultsUnsynced(world, "EIO", "/files/incoming/"),
  },
  {
    name: "results-name-sync",
    says: "result files whose names cannot be synced are not delivered until the disk works again",
    play: (world) => resultsUnsynced(world, "EIO", "/files/gen_"),
  },
];
