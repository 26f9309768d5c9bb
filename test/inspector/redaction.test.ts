// Redaction of replays: the same transitions for every viewer, and no name, text or address without permission.
import { expect, test } from "bun:test";
import { replay } from "../../actors/replay/replay.ts";
import { ApiError } from "../../src/domain/api-errors.ts";
import type { GenerationHistoryDto } from "../../src/inspector/generation-history-dto.ts";
import { replayOf } from "../../src/inspector/replay-api.ts";
import { FAL, INPUT, REPLICATE, SPARE } from "../generation/catalogue.ts";
import { openScene, type Scene } from "../generation/fixture.ts";

const COLLECT_MS = 600_000;

/** A generation that failed on two routes, the second time with a provider message, and succeeded on the third. */
const eventful = async () => {
  const scene = await openScene({ routes: [{ ...FAL, onRefusal: "next" }, REPLICATE, SPARE] });
  scene.simulator.script({ fault: "429", retry_after_s: 1, times: 1, endpoint: "life/fal" });
  scene.simulator.script({ fault: "fail", endpoint: "life/fal" });
  scene.simulator.script({ fault: "drop-after", provider: "replicate", times: 1 });
  scene.simulator.script({ fault: "fail", provider: "replicate" });
  const { id } = await scene.begin();
  await scene.hurry(async () => (await scene.show(id)).completed_at !== null);
  return { scene, id };
};
const ask = (scene: Scene, id: string, asker: Parameters<typeof replayOf>[2]): Promise<GenerationHistoryDto> =>
  replayOf({ store: scene.store, collectMs: COLLECT_MS }, id, asker);

test("shows every viewer the same transitions and the same transfers", async () => {
  const { scene, id } = await eventful();
  const { accountSeq } = scene.tenant;
  const everything = replay((await ask(scene, id, { onlooker: "everything" })).given);
  expect(everything.faults).toEqual([]);
  expect(everything.steps.map(({ event }) => event?.type)).toContain("jobFailed");
  const wayOf = ({ steps }: typeof everything) =>
    steps.map(({ from, to, transition, effects: asks, transfers, context }) => ({
      from,
      to,
      transition,
      asks,
      transfers,
      context,
    }));
  for (const asker of [{ onlooker: "words" }, { onlooker: "prompts" }, { onlooker: "member", accountSeq }] as const) {
    const reported = replay((await ask(scene, id, asker)).given);
    expect(reported.faults).toEqual([]);
    expect(wayOf(reported)).toEqual(wayOf(everything));
  }
});

test("shows members numbered routes, without route, provider, job, reference or provider message", async () => {
  const { scene, id } = await eventful();
  const reported = await ask(scene, id, { onlooker: "member", accountSeq: scene.tenant.accountSeq });
  const text = JSON.stringify(reported);
  expect(text).toContain("Route 2");
  for (const name of ["life/", "replicate", '"fal"', "spare", "http", scene.tenant.accountId, INPUT.prompt])
    expect(text).not.toContain(name);
  for (const attempt of await scene.attempts(id)) {
    expect(text).not.toContain(attempt.ref);
    if (attempt.job) expect(text).not.toContain(attempt.job.jobId);
    if (attempt.failure) expect(text).not.toContain(attempt.failure.detail);
  }
});

test("shows operators and viewers routes and jobs, and prompts and provider messages only if they are enabled", async () => {
  const { scene, id } = await eventful();
  const reported = async (onlooker: "words" | "prompts" | "everything") => JSON.stringify(await ask(scene, id, { onlooker }));
  const [words, prompts, everything] = [await reported("words"), await reported("prompts"), await reported("everything")];
  const [first] = await scene.attempts(id);
  for (const text of [words, prompts, everything]) {
    expect(text).toContain("life/fal");
    expect(text).toContain(first?.job?.jobId ?? "no job");
  }
  expect([words, prompts, everything].map((text) => text.includes(INPUT.prompt))).toEqual([false, true, true]);
  const detail = first?.failure?.detail ?? "no detail";
  expect([words, prompts, everything].map((text) => text.includes(detail))).toEqual([false, false, true]);
  expect([words, prompts].map((text) => text.includes("http"))).toEqual([false, false]);
});

test("returns not_found for a generation of another account and for one that does not exist", async () => {
  const { scene, id } = await eventful();
  const other = await scene.newTenant();
  for (const [asked, asker] of [
    [id, { onlooker: "member", accountSeq: other.accountSeq }],
    [id, { onlooker: "member", accountSeq: null }],
    [`gen_${"0".repeat(26)}`, { onlooker: "everything" }],
    ["../../etc", { onlooker: "everything" }],
  ] as const) {
    const fault = await ask(scene, asked, asker).catch((thrown: unknown) => thrown);
    expect(fault).toBeInstanceOf(ApiError);
    expect((fault as ApiError).code).toBe("not_found");
  }
});
