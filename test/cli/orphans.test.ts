// `genrouter orphans`: which attempts it lists, in which order, with which advice, and the total.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { linesOf } from "../../src/cli/commands/orphans-table.ts";
import type { AttemptState, Failure } from "../../src/domain/types.ts";
import type { Store } from "../../src/store/store.ts";
import {
  type Account,
  admit,
  capturedMutation,
  NOW_MS,
  openAccount,
  PRICES,
  releasedMutation,
  startedMutation,
  stepMutation,
} from "../store/fixture.ts";
import { openDirectory } from "../store/open-store.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

const dir = freshDir();
let store: Store;
let account: Account;
/** Ids of generations by the outcome of their first attempt. */
const ids: Record<string, string> = {};

type Close = { state: AttemptState; failure?: Failure; watchUntilMs?: number };

/** A generation whose first attempt on `route` was closed as given. The generation then fails, or falls back to route c. */
const closed = async (name: string, close: Close, more: { route?: "a" | "b"; ends?: boolean; job?: boolean } = {}) => {
  const { route = "a", ends = true, job = true } = more;
  const mutation = await admit(store, account);
  const started = startedMutation(mutation, 1, 1, route);
  await store.commit([
    job ? started : { ...started, attemptChanges: started.attemptChanges.slice(0, 2) },
    stepMutation(mutation.seq, 2, { attemptChanges: [{ n: 1, ...close }] }),
    ends ? releasedMutation(mutation.seq, 3) : startedMutation(mutation, 3, 2, "c"),
  ]);
  ids[name] = mutation.id;
  return mutation;
};

beforeAll(async () => {
  store = await openDirectory({ dir, mode: "test" });
  account = await openAccount(store, 100_000);
  expect(await store.orphans(0)).toEqual([]);
});
afterAll(async () => {
  await store.close();
  dropDirs();
});

const orphans = (...words: string[]) => runHere(["orphans", "--data", dir, ...words]);
const listed = async (...words: string[]) => JSON.parse((await orphans("--json", ...words)).out);

test("orphans prints none and exits with 0 when there is no orphan, also with --json", async () => {
  const empty = freshDir();
  await (await openDirectory({ dir: empty, mode: "test" })).close();
  const { exit, out } = await runHere(["orphans", "--data", empty]);
  expect([exit as number, out]).toEqual([0, "none\n"]);
  const forScripts = await runHere(["orphans", "--data", empty, "--json"]);
  expect(JSON.parse(forScripts.out)).toEqual({ count: 0, at_most_lost_usd: 0, orphans: [] });
});

describe("orphans with lost, late and unusable attempts", () => {
  beforeAll(async () => {
    await closed("watched", { state: "lost", watchUntilMs: NOW_MS + 900_000 }, { job: false, ends: false });
    await closed("lost", { state: "lost" }, { job: false, route: "b" });
    await closed("capped", { state: "capped" });
    await closed("gone", { state: "failed", failure: { class: "gone", detail: "404" } });
    await closed("unreadable", { state: "failed", failure: { class: "result_unreadable", detail: "no picture" } });
    const mismatch = { class: "mismatched", detail: "length: 4 s came, 30 s, at least 28.8 s ordered" } as const;
    await closed("mismatched", { state: "mismatched", failure: mismatch });
    await closed("resent", { state: "lost", failure: { class: "rate_limited", detail: "earlier" } }, { job: false });
    // These cost nothing, or were charged.
    await closed("cancelled by us", { state: "capped", failure: { class: "job_failed", detail: "canceled" } });
    await closed("failed", { state: "failed", failure: { class: "job_failed", detail: "no" } });
    await closed("refused", { state: "rejected", failure: { class: "refused_input", detail: "no" } }, { job: false });
    const late = await closed("late", { state: "capped", watchUntilMs: NOW_MS + 900_000 }, { route: "b" });
    const change = { n: 1, state: "late", watchUntilMs: null } as const;
    await store.commit([{ mutation: "mark-attempt", seq: late.seq, atMs: NOW_MS + 9000, change }]);
    const beaten = await admit(store, account);
    const delivered = capturedMutation(beaten.seq, 4, 1, PRICES.a);
    await store.commit([
      startedMutation(beaten),
      stepMutation(beaten.seq, 2, { attemptChanges: [{ n: 1, state: "capped" }] }),
      startedMutation(beaten, 3, 2, "c"),
      {
        ...delivered,
        attemptChanges: [
          { n: 1, state: "delivered" },
          { n: 2, state: "superseded", watchUntilMs: NOW_MS + 900_000 },
        ],
      },
    ]);
    ids.superseded = beaten.id;
  });

  test("lists exactly the orphans, with fate, provider job, price and age", async () => {
    const { count, at_most_lost_usd, orphans: all } = await listed();
    const short = all.map((row: Record<string, unknown>) => [row.generation_id, row.attempt, row.fate, row.state, row.price_usd]);
    expect(short).toEqual([
      [ids.superseded, 2, "unknown", "superseded", 1.1],
      [ids.late, 1, "late", "late", 0.9],
      [ids.resent, 1, "unknown", "lost", 0.75],
      [ids.mismatched, 1, "mismatched", "mismatched", 0.75],
      [ids.unreadable, 1, "unusable", "failed", 0.75],
      [ids.gone, 1, "unknown", "failed", 0.75],
      [ids.capped, 1, "unknown", "capped", 0.75],
      [ids.lost, 1, "unknown", "lost", 0.9],
      [ids.watched, 1, "unknown", "lost", 0.75],
    ]);
    expect([count, at_most_lost_usd]).toEqual([9, 7.4]);
    const [seen] = all.filter((row: { generation_id: string }) => row.generation_id === ids.late);
    expect(seen).toEqual({
      generation_id: ids.late,
      attempt: 1,
      account_id: account.id,
      fate: "late",
      state: "late",
      provider: "fal",
      route_id: "b",
      endpoint: "video/fast",
      job_id: expect.stringMatching(/^job-\d+-1$/),
      ref: `${ids.late?.slice(4)}-1`,
      price_usd: 0.9,
      sent_at: new Date(NOW_MS + 500).toISOString(),
      ended_at: expect.any(String),
      age_s: expect.any(Number),
      watched_until: null,
      failure: null,
      known: "the result was delivered after the attempt was given up",
      to_do: "billed by the provider: request a refund from fal, or record the cost",
    });
    expect(Math.abs(seen.age_s * 1000 - Math.max(0, Date.now() - NOW_MS - 500))).toBeLessThan(60_000);
  });

  test("gives the known facts and the advice for each fate", async () => {
    const all: { generation_id: string; known: string; to_do: string }[] = (await listed()).orphans;
    const of = (name: string) => {
      const row = all.find(({ generation_id }) => generation_id === ids[name]);
      return `${row?.known}; ${row?.to_do}`;
    };
    const until = new Date(NOW_MS + 900_000).toISOString();
    expect(of("watched")).toBe(
      `the response to the submission was lost; no job was found; no action yet: the job is polled until ${until}; a timely result is delivered and charged`,
    );
    expect(of("superseded")).toContain(`polled until ${until}; a result is marked as late`);
    expect(of("lost")).toContain(`search for a job of ${ids.lost?.slice(4)}-1 in the list of fal: if it exists, cancel it`);
    expect(of("capped")).toMatch(/^the end of the job was not observed; search for job job-\d+-1 at fal/);
    expect(of("gone")).toContain("no longer has the job");
    expect(of("unreadable")).toContain("billed by the provider: request a refund from fal");
    expect(of("mismatched")).toBe(
      "the delivered result differs from the order; billed by the provider: request a refund from fal, or record the cost",
    );
  });

  test("prints a table with the total at the end, sorted by price with --sort price", async () => {
    const { exit, out, err } = await orphans("--sort", "price");
    expect([exit as number, err]).toEqual([0, ""]);
    const lines = out.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^GENERATION +N +FATE +USD +AGE +PROVIDER/);
    expect(lines[1]).toMatch(new RegExp(`^${ids.superseded} +2 +unknown +\\$1\\.10 `));
    expect(lines[10]).toBe("");
    expect(lines.at(-1)).toBe("9 orphans, at most $7.40 lost at route prices");
    expect(out).not.toContain("http");
  });

  test.each([80, 100, 120])(
    "fits a terminal of %d columns and prints the advice once per group of equal orphans",
    async (columns) => {
      const rows = await store.orphans(0);
      const lines = linesOf(rows, NOW_MS + 86_400_000 * 3, columns);
      expect(lines.filter((line) => line.length > columns)).toEqual([]);
      expect(lines.filter((line) => line.includes("if it exists, cancel it"))).toHaveLength(3);
      const paid = lines.indexOf("late: the result was delivered after the attempt was given up");
      expect(lines[paid + 1]).toBe("  billed: request a refund from the provider, or record the cost");
      expect(lines[paid + 2]).toMatch(new RegExp(`^  ${ids.late} 1: job job-\\d+-1 at fal$`));
      for (const name of Object.values(ids).filter((id) => rows.some(({ generationId }) => generationId === id)))
        expect(lines.filter((line) => line.includes(name)).length).toBeGreaterThanOrEqual(2);
    },
  );

  test("lists every orphan, names three of a large group with the advice, and omits the job column when ids do not fit", async () => {
    const [row] = (await store.orphans(0)).filter(({ fate }) => fate === "late");
    if (!row) throw new Error("there is no late orphan");
    const many = Array.from({ length: 9 }, (_, n) => ({ ...row, n, jobId: `${n}${"0".repeat(35)}` }));
    const narrow = linesOf(many, NOW_MS, 80);
    expect(narrow.filter((line) => line.length > 80)).toEqual([]);
    expect(narrow.filter((line) => /: job \d{36} at fal$/.test(line))).toHaveLength(3);
    expect(narrow).toContain("  and 6 more; --json lists all");
    expect(narrow.slice(1, 10).every((line) => line.startsWith(row.generationId))).toBe(true);
    expect(linesOf(many, NOW_MS, 120)[0]).toEndWith("JOB OR REFERENCE");
  });

  test("--since omits attempts that were sent before", async () => {
    expect((await listed("--since", new Date(NOW_MS + 400).toISOString())).count).toBe(9);
    expect((await listed("--since", new Date(NOW_MS + 501).toISOString())).count).toBe(0);
    expect((await listed("--since", "900000d")).count).toBe(9);
  });

  test.each([
    [["--since", "yesterday"], "--since"],
    [["--since", "2026-02-30"], "--since"],
    [["--sort", "age"], "--sort"],
  ])("%p exits with 2 and a message with the allowed values", async (words, flag) => {
    const { exit, err } = await orphans(...words);
    expect([exit as number, err]).toEqual([2, expect.stringMatching(new RegExp(`^error: ${flag}: .* use `))]);
  });
});

test("orphans --help has examples, and orphans exits with 78 when the directory has no database", async () => {
  expect((await runHere(["orphans", "--help"])).out).toContain("Examples:\n  $ genrouter orphans --data");
  const { exit, err } = await runHere(["orphans", "--data", freshDir()]);
  expect([exit as number, err]).toEqual([78, expect.stringContaining("there is no database in it")]);
});
