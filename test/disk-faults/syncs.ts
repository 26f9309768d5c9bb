// Disk-fault rows about failing and slow syncs, and what callers see of them.
import { must, type Scene, withScene } from "./fixture.ts";
import type { Row, RowWorld } from "./table.ts";

/**
 * The first sync of the store after the start fails, and all later ones: callers get no success, and the process exits with 70.
 */
const failing = (world: RowWorld, code: string) =>
  withScene(world, async (scene) => {
    const { env, board } = scene.faulty({ FAIL_SYNC_AT: "1", TIMES: "on", MATCH: "genrouter.db", ERRNO: code });
    board.arm(false);
    const life = await scene.start(env);
    for (let n = 0; n < 4; n += 1) must((await scene.submit(life.url))?.status === 202, "a submission was not accepted");
    board.arm(true);
    const answer = await scene.submit(life.url);
    must(answer === undefined || answer.status >= 500, `answered ${answer?.status} after a sync that failed`);
    const end = await scene.ends(life);
    must(end.code === 70, `ended with ${end.signal ?? end.code}, not 70`);
    await scene.recovers();
  });

const GET_MS = 1000;
/** Polls a generation until stopped, and measures the durations. */
const watch = (scene: Scene, url: string) => {
  const tookMs: number[] = [];
  let isOver = false;
  const id = [...scene.acked.values()][0] ?? "";
  const looking = (async () => {
    while (!isOver) {
      const beganMono = performance.now();
      const seen = await scene.get(url, id);
      must(seen?.status === 200, `GET: ${seen?.status}`);
      tookMs.push(performance.now() - beganMono);
      await Bun.sleep(20);
    }
  })();
  return async () => {
    isOver = true;
    await looking;
    const sorted = tookMs.sort((a, b) => a - b);
    const slow = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
    must(slow < GET_MS, `GETs take ${Math.round(slow)} ms (p99 of ${sorted.length})`);
    return `p99 of ${sorted.length} GETs ${Math.round(slow)} ms`;
  };
};

const slow50 = (world: RowWorld) =>
  withScene(world, async (scene) => {
    const { env } = scene.faulty({ SLOW_SYNC_MS: "50" });
    const life = await scene.start(env);
    must((await scene.submit(life.url))?.status === 202, "a submission was not accepted");
    const watched = watch(scene, life.url);
    const caller = async () => {
      for (let n = 0; n < 10; n += 1) {
        const answer = await scene.submit(life.url);
        must(answer?.status === 202 || answer?.status === 503, `answered ${answer?.status}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, caller));
    const note = await watched();
    life.child.kill("SIGKILL");
    await life.child.ended;
    await scene.recovers();
    return note;
  });

/** Above `slow_commit_ms` and the time after which a commit counts as slow. */
const BUSY_AFTER_MS = 2600;
const slow5000 = (world: RowWorld) =>
  withScene(world, async (scene) => {
    const { env, board } = scene.faulty({ SLOW_SYNC_MS: "5000", MATCH: "genrouter.db" });
    board.arm(false);
    const life = await scene.start(env);
    must((await scene.submit(life.url))?.status === 202, "a submission was not accepted");
    await scene.settles(life);
    board.arm(true);
    const watched = watch(scene, life.url);
    const patient = scene.submit(life.url);
    await Bun.sleep(BUSY_AFTER_MS);
    const answer = await scene.submit(life.url);
    must(
      answer?.status === 503 && JSON.stringify(answer.body).includes('"busy"'),
      `answered ${answer?.status} during a slow commit`,
    );
    await patient;
    const note = await watched();
    life.child.kill("SIGKILL");
    await life.child.ended;
    await scene.recovers();
    return note;
  });

export const SYNCS: readonly Row[] = [
  {
    name: "sync-fails",
    says: "a failing sync: exit 70, and the next start verifies clean",
    play: (world) => failing(world, "EIO"),
  },
  { name: "sync-full", says: "a sync without space: the same behaviour", play: (world) => failing(world, "ENOSPC") },
  { name: "sync-50ms", says: "syncs of 50 ms: reads stay quick, and no acknowledgement is lost", play: slow50 },
  {
    name: "sync-5s",
    says: "syncs of 5 s: new submissions get 503 busy, reads stay quick, no acknowledgement is lost",
    play: slow5000,
  },
];
