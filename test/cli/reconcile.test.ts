// `genrouter reconcile`: compares a provider's jobs with our attempts, and reports those without a counterpart.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ListedJob } from "../../src/providers/port.ts";
import { EDGE_MS, reconcile, unpricedOf } from "../../src/providers/reconcile.ts";
import { markRestored } from "../../src/store/sqlite/mark-restored.ts";
import type { SentRow } from "../../src/store/store.ts";
import { type Child, start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

const NOW = Date.parse("2026-11-23T12:00:00Z");
const HOUR = 3_600_000;
const SPAN = { sinceMs: NOW - 24 * HOUR, untilMs: NOW };
const sent = (row: Partial<SentRow>): SentRow => ({
  ...{
    generationId: "gen_1",
    n: 1,
    accountId: "acc_1",
    routeId: "m/fal",
    endpoint: "m",
    options: {},
    ref: "0k3v9x2m-1",
    jobId: "job-1",
  },
  ...{ state: "delivered", priceCredits: 75, sentAtMs: NOW - 2 * HOUR },
  ...row,
});
const listed = (job: Partial<ListedJob>): ListedJob => ({ jobId: "job-1", madeAtMs: NOW - 2 * HOUR, marks: [], ...job });

describe("reconcile", () => {
  test("matches a job with its attempt, also when the attempt was sent just before the period", () => {
    const early = sent({ sentAtMs: SPAN.sinceMs - EDGE_MS / 2 });
    expect(reconcile([listed({})], [early], SPAN)).toEqual({ matched: 1, strangers: [], missing: [], untold: [] });
  });
  test("reports a job without an attempt, with the attempt that its reference names", () => {
    const lost = sent({ jobId: null, state: "lost" });
    const strangers = [listed({ jobId: "job-2", marks: ["0k3v9x2m-1"] }), listed({ jobId: "job-3" })];
    const found = reconcile(strangers, [lost], SPAN);
    expect(found.strangers.map(({ jobId, of }) => [jobId, of?.ref ?? null])).toEqual([
      ["job-2", lost.ref],
      ["job-3", null],
    ]);
    expect(unpricedOf(found).map(({ jobId }) => jobId)).toEqual(["job-3"]);
    expect(found).toMatchObject({ matched: 0, missing: [], untold: [] });
  });
  test("does not match a reference that is a prefix of another", () => {
    const rows = [sent({ jobId: null, state: "lost" }), sent({ jobId: null, state: "lost", ref: "0k3v9x2m-12" })];
    const { strangers, untold } = reconcile([listed({ jobId: "job-2", marks: ["0k3v9x2m-12"] })], rows, SPAN);
    expect(strangers.map(({ of }) => of?.ref)).toEqual(["0k3v9x2m-12"]);
    expect(untold.map(({ ref }) => ref)).toEqual(["0k3v9x2m-1"]);
  });
  test("reports an attempt whose job is not listed, except near the ends of the period", () => {
    const edges = [sent({ ref: "a-1", sentAtMs: SPAN.sinceMs + 1 }), sent({ ref: "b-1", sentAtMs: NOW - 1 })];
    expect(reconcile([], edges, SPAN)).toMatchObject({ missing: [], untold: [] });
    expect(reconcile([], [sent({})], SPAN).missing.map(({ ref }) => ref)).toEqual(["0k3v9x2m-1"]);
  });
  test("reports attempts without a job as unknown unless they were rejected or absent", () => {
    const rows = (["rejected", "absent", "lost", "sending"] as const).map((state) =>
      sent({ state, jobId: null, ref: `${state}-1` }),
    );
    expect(reconcile([], rows, SPAN).untold.map(({ state }) => state)).toEqual(["lost", "sending"]);
  });
});

describe("genrouter reconcile", () => {
  const dir = freshDir();
  let service: Child;
  let simulatorUrl = "";
  beforeAll(async () => {
    service = start([...PROGRAM, "serve", "--simulate", "--port", "0", "--data", dir], { GENROUTER_SIMULATOR__SPEED: "50" });
    [, simulatorUrl = ""] = await service.hears(/simulator (http\S+)/);
    await service.hears(/^curl /m);
  });
  afterAll(async () => {
    service.kill("SIGTERM");
    await service.ended;
  });
  const run = async (...words: string[]) => {
    const { exit, out, err } = await runHere(["reconcile", ...words, "--data", dir, "--json"]);
    return { exit, said: exit <= 1 && out !== "" ? JSON.parse(out) : err };
  };

  test("matches jobs of this service, and exits with 1 for a job of unknown price that something else submitted", async () => {
    const words = ["generate", "vidmodel-2.0-fast", "--prompt", "a kite", "--duration", "4", "--data", dir, "--json"];
    expect((await runHere([...words, "-o", `${dir}/kite.mp4`])).exit).toBe(0);
    const bought: Record<string, number> = {};
    for (const provider of ["fal", "replicate", "modelark"]) {
      const { exit, said } = await run(provider);
      expect([exit, said.at_provider_only, said.here_only, said.unknown]).toEqual([0, [], [], []]);
      expect([said.unpriced_jobs, said.at_most_lost_usd]).toEqual([0, 0]);
      bought[provider] = said.matched;
    }
    expect(Object.values(bought).reduce((sum, n) => sum + n, 0)).toBe(1);

    const elsewhere = await fetch(`${simulatorUrl}/replicate/v1/models/bytedance/seedance-2.0-fast/predictions`, {
      method: "POST",
      headers: { authorization: "Bearer s3cr3t-0123456789", "content-type": "application/json" },
      body: JSON.stringify({ input: { prompt: "bought by hand", duration: 4 } }),
    });
    const { id } = (await elsewhere.json()) as { id: string };
    const { exit, said } = await run("replicate");
    expect(exit).toBe(1);
    expect(said.at_provider_only).toEqual([{ job_id: id, made_at: expect.any(String), attempt: null }]);
    expect([said.unpriced_jobs, said.at_most_lost_usd]).toEqual([1, null]);
    // A job of unknown price is not counted as free, and the text names a restored backup as a possible cause.
    const clean = await runHere(["reconcile", "fal", "--data", dir]);
    expect(clean.out).toEndWith("; at most $0.00 lost at route prices\n");
    const { out } = await runHere(["reconcile", "replicate", "--data", dir]);
    expect(out).toMatch(/ \? {2}no attempt: submitted with the same key by something else\n/);
    expect(out).toEndWith("; at least $0.00 lost at route prices; the price of 1 job is not known\n");
    const db = new Database(`${dir}/genrouter.db`);
    markRestored(db, { takenAtMs: Date.now(), nowMs: Date.now() });
    db.close();
    const restored = await runHere(["reconcile", "replicate", "--data", dir]);
    expect(restored.out).toContain("no attempt: submitted after the restored backup, or with the same key by something else\n");
  });

  test("rejects a provider without a list, an unknown provider and an invalid --since", async () => {
    expect(await run("vidu")).toMatchObject({ said: expect.stringContaining("no job list") });
    const unknown = await runHere(["reconcile", "unknown", "--data", dir]);
    expect([unknown.exit as number, unknown.err]).toEqual([4, expect.stringMatching(/^error: there is no provider unknown/)]);
    expect(await run("fal", "--since", "yesterday")).toMatchObject({ exit: 2, said: expect.stringContaining("--since") });
  });
});
