// Bytes of the SQLite file after erasures: no text is left in a row, a rebuilt page, a free page or the WAL.
import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AdmitGeneration, Mutation } from "../../src/domain/mutations.ts";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { createRng } from "../../src/torture/simulation/rng.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { erasure } from "./contract/erasure.ts";
import { type Account, admitMutation, openAccount, releasedMutation, startedMutation, stepMutation } from "./fixture.ts";
import { openDirectory } from "./open-store.ts";

afterAll(dropDirs);

const COUNT = 1_500;
const OPEN_AT_MOST = 80;
const BATCH = 50;
/** Steps of a generation from its start to its end. */
const STEPS = 6;

const wordOf = (at: number): string => `zanzibar${String(at).padStart(5, "0")}`;
const admission = (account: Account, at: number, padding: number): AdmitGeneration => {
  const word = wordOf(at);
  const input = { prompt: `${word} ${"p".repeat(padding)}` };
  return admitMutation(account, {
    ...{ body: JSON.stringify({ model: "vidmodel-2.0", input }), idempotencyKey: `k${at}` },
    labels: { metadata: { project: `${word} film` }, endUser: `${word}@example.com` },
  });
};

/** Step `n` of a generation. Each contains the word, as a provider might repeat it. */
const step = (mutation: AdmitGeneration, word: string, n: number, padding: number): Mutation => {
  const event = { type: "answerLost", n: 1, detail: `${word} ${"d".repeat(padding)}` };
  const failure = { class: "job_failed", detail: event.detail } as const;
  if (n === STEPS) return releasedMutation(mutation.seq, n, { event, attemptChanges: [{ n: 1, state: "failed", failure }] });
  if (n > 1) return stepMutation(mutation.seq, n, { event, snapshot: JSON.stringify({ v: n, pad: "s".repeat(padding) }) });
  const begun = startedMutation(mutation);
  const request = JSON.stringify({ prompt: `${word} ${"r".repeat(padding)}` });
  const attemptChanges = begun.attemptChanges.map((change) => (change.request ? { ...change, request } : change));
  return { ...begun, event, attemptChanges };
};

/** The words of generations whose bytes are in a file. */
const wordsIn = (path: string): Set<string> =>
  new Set(
    readFileSync(path)
      .toString("latin1")
      .match(/zanzibar\d{5}/g),
  );

test("no byte of an erased text is in the database file, in whatever order rows were written", async () => {
  const dir = freshDir();
  const store = await openDirectory({ dir, mode: "test" });
  const accounts = [await openAccount(store, 1e6), await openAccount(store, 1e6), await openAccount(store, 1e6)];
  const rng = createRng(20261130);
  const made: { account: Account; mutation: AdmitGeneration; word: string; version: number }[] = [];
  const open: typeof made = [];
  while (made.length < COUNT || open.length > 0) {
    const batch = new Map<number, Mutation>();
    while (batch.size < BATCH && (made.length < COUNT || open.length > 0)) {
      const padding = rng.whole(0, 700);
      if (made.length < COUNT && open.length < OPEN_AT_MOST) {
        const account = rng.pick(accounts);
        const one = { account, mutation: admission(account, made.length, padding), word: wordOf(made.length), version: 0 };
        made.push(one);
        open.push(one);
        batch.set(one.mutation.seq, one.mutation);
        continue;
      }
      const at = rng.whole(0, open.length - 1);
      const one = open[at];
      // A batch has at most one mutation of a generation here.
      if (!one || batch.has(one.mutation.seq)) break;
      one.version += 1;
      batch.set(one.mutation.seq, step(one.mutation, one.word, one.version, padding));
      if (one.version === STEPS) open.splice(at, 1);
    }
    const outcomes = await store.commit([...batch.values()]);
    expect(outcomes.filter(({ kind }) => kind !== "admitted" && kind !== "stepped")).toEqual([]);
  }
  const erased = made.filter(() => rng.chance(0.5));
  for (let at = 0; at < erased.length; at += BATCH)
    await store.commit(erased.slice(at, at + BATCH).map(({ account, mutation }) => erasure(account, mutation.seq)));
  await store.close();

  const wal = join(dir, `${DATABASE_FILE}-wal`);
  expect(existsSync(wal) ? readFileSync(wal).length : 0).toBe(0);
  const found = wordsIn(join(dir, DATABASE_FILE));
  expect(erased.length).toBeGreaterThan(COUNT / 3);
  expect(erased.filter(({ word }) => found.has(word)).map(({ word }) => word)).toEqual([]);
  // The search finds what is not erased.
  expect(found.size).toBe(COUNT - erased.length);
}, 60_000);
