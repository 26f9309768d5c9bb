// Plays one named crash point: kill, state on disk, restart, end, and audit of both sides.
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/domain/types.ts";
import { MIGRATIONS, SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import type { StoreReads } from "../../src/store/store.ts";
import {
  ask,
  endow,
  reading,
  type ServicePlace,
  type ServiceProcess,
  type SimulatorProcess,
  startService,
  type Tenant,
} from "../../src/torture/crash/crash-fixture.ts";
import { type Genrouter, until } from "../../src/torture/crash/processes.ts";
import { dropScratch, makeScratch } from "../scratch.ts";
import { spawnHooked, startHooked } from "./hooked.ts";
import type { Found, Point, Settlement } from "./points.ts";

export type PointWorld = { simulator: SimulatorProcess; speed: number; genrouter: Genrouter };

const CREDITS = 10_000;
const inputsAt = (samples: string) => ({
  "vidmodel-2.0-fast": { resolution: "480p", duration: 4 },
  "sim-speech-1": {},
  "sim-lipsync-1": { image_url: `${samples}/picture.png?width=16&height=16`, audio_url: `${samples}/voice.wav?seconds=2` },
});
let count = 0;

/** A data directory with one account, and one submission that can be sent repeatedly. */
const openStage = async (world: PointWorld, point: Pick<Point, "model" | "script">) => {
  const dir = makeScratch("crash-");
  const [tenant] = (await endow(dir, [CREDITS])) as [Tenant];
  // Jobs are looked up by their input, so every submission of the tests is unique.
  const tag = `crash point ${process.pid}-${++count}.`;
  const inputs = inputsAt(`${world.simulator.url}/samples`);
  const model = point.model ?? "vidmodel-2.0-fast";
  const body = JSON.stringify({ model, input: { prompt: `${tag} ${point.script ?? ""}`, ...inputs[model] } });
  const env = { GENROUTER_MEDIA__ALLOW: new URL(world.simulator.url).host };
  const place: ServicePlace = { dir, simulatorUrl: world.simulator.url, speed: world.speed, env };
  const hitFile = join(dir, "hit");
  return {
    dir,
    tenant,
    tag,
    place,
    submit: (url: string) => ask(url, tenant.key, { path: "/v1/generations", body, idempotencyKey: tag }),
    submissions: () => world.simulator.submissions(tag),
    /** Starts the entry that dies at `at`. @returns its process. */
    startToDie: (at: string, more: Record<string, string> = {}) => {
      rmSync(hitFile, { force: true });
      return spawnHooked({ ...place, env: { ...env, CRASH_AT: at, CRASH_HIT: hitFile, ...more } });
    },
    hit: () => (existsSync(hitFile) ? readFileSync(hitFile, "utf8") : "the point was never reached"),
    close: () => dropScratch(dir),
  };
};
export type Stage = Awaited<ReturnType<typeof openStage>>;

/** The only generation of the stage, as stored on disk. */
const generationOf = async (reads: StoreReads, stage: Stage) => {
  const known = await reads.generationByKey(stage.tenant.accountSeq, stage.tag);
  if (!known) return null;
  const [open] = await reads.unfinished(known.record.seq - 1, 1);
  const attempts = await reads.attemptsOf(known.record.seq);
  return { record: known.record, attempts, deadline: open?.deadline?.kind ?? null };
};

const seenOnDisk = (stage: Stage): Promise<{ found: Found; attempt: JsonObject | null; id: string | null }> =>
  reading(stage.dir, async (reads) => {
    const generation = await generationOf(reads, stage);
    if (!generation) return { found: null, attempt: null, id: null };
    const { record, attempts, deadline } = generation;
    const last = attempts.at(-1) ?? null;
    const found = { status: record.status, attempt: last?.state ?? null, deadline, message: record.message };
    return { found, attempt: last as unknown as JsonObject | null, id: record.id };
  });

/** Dies at each of the places in turn; the submission is sent to the first process only. */
const dieAt = async (stage: Stage, places: readonly string[]): Promise<void> => {
  for (const [turn, at] of places.entries()) {
    const child = stage.startToDie(at);
    if (turn === 0) await stage.submit((await child.hears(/^url (\S+)$/m))[1] ?? "");
    deepStrictEqual(await child.ended, { code: null, signal: "SIGKILL" }, child.output());
    ok(stage.hit().startsWith(at), `${at}: ${stage.hit()}`);
  }
};

/** Kills the service once the simulator has the submission, or during the drain that follows. */
const killWhenSubmitted = async (world: PointWorld, stage: Stage, isDraining: boolean): Promise<void> => {
  const { child, url } = await startService(world.genrouter, stage.place);
  const accepted = await stage.submit(url);
  strictEqual(accepted?.status, 202);
  await until("a submission on the simulator's log", async () => (await stage.submissions()).length > 0);
  if (isDraining) {
    child.kill("SIGTERM");
    await child.hears(/service draining/);
    strictEqual((await stage.submit(url))?.status, 200, "a replay is answered during the drain");
    const fresh = await ask(url, stage.tenant.key, {
      path: "/v1/generations",
      body: '{"model":"sim-speech-1","input":{"prompt":"x"}}',
    });
    strictEqual(fresh?.status, 503);
    deepStrictEqual((fresh.body.error as JsonObject).code, "restarting");
  }
  child.kill("SIGKILL");
  deepStrictEqual(await child.ended, { code: null, signal: "SIGKILL" }, child.output());
};

/** Polls the generation over HTTP until it ends. */
const follow = (stage: Stage, { url }: ServiceProcess, id: string): Promise<JsonObject> =>
  until(`the end of ${id}`, async () => {
    const shown = await ask(url, stage.tenant.key, { path: `/v1/generations/${id}` });
    return shown && shown.body.completed_at !== null && shown.body;
  });

/** Audits the end of a stage: money moved once, both sides agree, the invariants hold, and the service drains. */
const auditEnd = async (
  stage: Stage,
  service: ServiceProcess,
  ended: JsonObject,
  { ends, confirms }: Pick<Point, "ends" | "confirms">,
): Promise<void> => {
  strictEqual(ended.status, "succeeded", JSON.stringify(ended));
  strictEqual(ended.attempts, ends.attempts);
  service.child.kill("SIGTERM");
  deepStrictEqual(await service.child.ended, { code: 0, signal: null }, service.child.output());
  const lines = await stage.submissions();
  strictEqual(lines.length, ends.submissions, JSON.stringify(lines));
  await reading(stage.dir, async (reads) => {
    const generation = await generationOf(reads, stage);
    const account = await reads.account(stage.tenant.accountId);
    ok(generation && account);
    const { record, attempts } = generation;
    const states = (await reads.eventsOf(record.seq)).map(({ stateAfter }) => stateAfter);
    if (confirms)
      ok(states.includes("running.confirming.acceptance"), `the provider was not queried first: ${states.join(", ")}`);
    const delivered = attempts.filter(({ state }) => state === "delivered");
    strictEqual(delivered.length, 1);
    strictEqual(Math.round(Number(ended.cost_usd) * 100), delivered[0]?.priceCredits);
    strictEqual(record.costCredits, delivered[0]?.priceCredits);
    const { availableCredits, heldCredits, chargedCredits } = account;
    deepStrictEqual(
      { availableCredits, heldCredits, chargedCredits },
      { availableCredits: CREDITS - (record.costCredits ?? 0), heldCredits: 0, chargedCredits: record.costCredits },
    );
    const kinds = (await reads.transfersOf(record.seq)).map(({ kind }) => kind);
    strictEqual(kinds.filter((kind) => kind === "capture").length, 1);
    strictEqual((await reads.transfers(stage.tenant.accountId, null, 100)).filter(({ kind }) => kind === "hold").length, 1);
    // Every job of the provider belongs to one attempt, and every job of an attempt is in the provider's log.
    deepStrictEqual(lines.flatMap(({ job_id }) => job_id ?? []).sort(), attempts.flatMap(({ job }) => job?.jobId ?? []).sort());
    deepStrictEqual(
      (await reads.verify(null)).filter((check) => !check.ok),
      [],
    );
  });
};

/** How often a point is played whose files came too late to be committed with their result. */
const PLAYS = 5;

/** Plays a point from beginning to end. @throws AssertionError if a check fails. */
export const playPoint = async (world: PointWorld, point: Point, plays = PLAYS): Promise<void> => {
  const stage = await openStage(world, point);
  if (typeof point.dies !== "string") await dieAt(stage, point.dies);
  else await killWhenSubmitted(world, stage, point.dies === "draining");

  const seen = await seenOnDisk(stage);
  if (point.isTogether && seen.found?.deadline === "collect" && plays > 1) {
    stage.close();
    return await playPoint(world, point, plays - 1);
  }
  deepStrictEqual(seen.found, point.found);
  if (point.also) ok(seen.attempt && point.also(seen.attempt as never), JSON.stringify(seen.attempt));
  const before = await stage.submissions();
  strictEqual(before.length, point.submittedBefore);
  if (point.polls) {
    const job = (await world.simulator.jobs()).find(({ id }) => id === before[0]?.job_id);
    ok(job && point.polls(job.polls), JSON.stringify(job));
  }

  const service = await startService(world.genrouter, stage.place);
  // Until recovery has read the store, the service rejects new submissions; it always replays known ones.
  const retried = await until("an answer that is not 503", async () => {
    const answer = await stage.submit(service.url);
    return answer?.status !== 503 && answer;
  });
  strictEqual(retried.status, point.retried, JSON.stringify(retried.body));
  if (seen.id !== null) strictEqual(retried.body.id, seen.id);
  const ended = await follow(stage, service, String(retried.body.id));
  await auditEnd(stage, service, ended, point);
  stage.close();
};

/** Dies while the writing thread commits settlement E; afterwards all of it is stored, or nothing. */
export const playInsideSettlement = async (
  world: PointWorld,
  settlement: Settlement,
  plays = PLAYS,
): Promise<"all" | "nothing"> => {
  const { script, deadline } = settlement;
  const stage = await openStage(world, script === undefined ? {} : { script });
  await dieAt(stage, ["inside:step/collected"]);
  const { found } = await seenOnDisk(stage);
  if (deadline === "attempt" && found?.deadline === "collect" && plays > 1) {
    stage.close();
    return await playInsideSettlement(world, settlement, plays - 1);
  }
  const isAll = found?.status === "succeeded";
  const whole = isAll
    ? { status: "succeeded", attempt: "delivered", deadline: null, message: null }
    : { status: "running", attempt: "accepted", deadline, message: null };
  deepStrictEqual(found, whole);
  await reading(stage.dir, async (reads) => {
    const account = await reads.account(stage.tenant.accountId);
    strictEqual(account?.chargedCredits, isAll ? 20 : 0);
    deepStrictEqual(
      (await reads.verify(null)).filter((check) => !check.ok),
      [],
    );
  });
  const service = await startService(world.genrouter, stage.place);
  const retried = await stage.submit(service.url);
  strictEqual(retried?.status, 200);
  const ended = await follow(stage, service, String(retried.body.id));
  await auditEnd(stage, service, ended, { ends: { attempts: 1, submissions: 1 } });
  stage.close();
  return isAll ? "all" : "nothing";
};

/** Dies during the migration that creates a new directory: nothing of it is stored, and the next start completes it. */
export const playBirth = async (world: PointWorld): Promise<void> => {
  const dir = makeScratch("crash-");
  const place = { dir, simulatorUrl: world.simulator.url, speed: world.speed };
  const hitFile = join(dir, "hit");
  const child = spawnHooked({ ...place, env: { CRASH_AT: "migration:user_version", CRASH_HIT: hitFile } });
  deepStrictEqual(await child.ended, { code: null, signal: "SIGKILL" }, child.output());
  ok(readFileSync(hitFile, "utf8").endsWith(`PRAGMA user_version = ${MIGRATIONS[0]?.version}`));
  await reading(dir, async () => undefined).then(
    () => ok(false, "half a schema was stored"),
    (fault: Error) => ok(/still empty/.test(fault.message), fault.message),
  );
  const service = await startService(world.genrouter, place);
  service.child.kill("SIGTERM");
  strictEqual((await service.child.ended).code, 0);
  deepStrictEqual(await reading(dir, async (reads) => (await reads.verify(null)).filter((check) => !check.ok)), []);
  dropScratch(dir);
};

/** The schema version of the next release. */
const NEXT_SCHEMA = SCHEMA_VERSION + 1;

/** Dies during the migration of a directory in use: the old schema remains, a copy lies beside it, and both releases continue. */
export const playUpgrade = async (world: PointWorld): Promise<void> => {
  const stage = await openStage(world, { script: "[sim:slow-answer=9000]" });
  await killWhenSubmitted(world, stage, false);
  const next = { CRASH_NEXT_SCHEMA: "1" };
  const dying = stage.startToDie("migration:user_version", next);
  deepStrictEqual(await dying.ended, { code: null, signal: "SIGKILL" }, dying.output());
  ok(stage.hit().endsWith(`PRAGMA user_version = ${NEXT_SCHEMA}`), stage.hit());
  ok(existsSync(join(stage.dir, `genrouter.db.before-${NEXT_SCHEMA}`)), "no copy was made before the migration");
  deepStrictEqual((await seenOnDisk(stage)).found?.attempt, "sending");
  // This release finds its schema unchanged and completes the generation.
  const service = await startService(world.genrouter, stage.place);
  const retried = await stage.submit(service.url);
  strictEqual(retried?.status, 200);
  const ended = await follow(stage, service, String(retried.body.id));
  await auditEnd(stage, service, ended, { ends: { attempts: 1, submissions: 1 } });
  // The next release completes the migration and replaces the copy of the killed one.
  const newer = await startHooked({ ...stage.place, env: next });
  strictEqual((await ask(newer.url, stage.tenant.key, { path: `/v1/generations/${retried.body.id}` }))?.body.status, "succeeded");
  newer.child.kill("SIGTERM");
  strictEqual((await newer.child.ended).code, 0, newer.child.output());
  stage.close();
};
