// Initial data of a simulated world: accounts, and deterministic generation ids.
import { generationId, msOfGenerationSeq } from "../../domain/ids.ts";
import { openSqliteOver } from "../../store/sqlite/in-process.ts";
import type { NodeEnvironment } from "./node-environment.ts";
import type { WorldDatabase } from "./world-database.ts";

/** The end user of each account that has a limit in total. */
export const LIMITED_END_USER = "limited";
export const END_USER_LIMIT_CREDITS = 120;

/** Creates the accounts of a world, each with a key and a limited end user, before any node starts. Returns their row numbers. */
export const endow = async (database: WorldDatabase, atMs: number, ids: readonly string[]): Promise<number[]> => {
  const store = await openSqliteOver(database, { mode: "test", nowMs: atMs });
  const outcomes = await store.commit(ids.map((id) => ({ mutation: "create-account", id, name: id, atMs }) as const));
  const seqs = outcomes.map((outcome) => (outcome.kind === "done" ? (outcome.seq ?? 0) : 0));
  await store.commit(
    seqs.map((accountSeq, at) => {
      const hash = String(at).padStart(64, "0");
      return {
        mutation: "create-key",
        id: `key_${at}`,
        accountSeq,
        scope: "generate",
        name: "",
        hash,
        start: "gr_test_",
        atMs,
      } as const;
    }),
  );
  const limit = { window: "total", credits: END_USER_LIMIT_CREDITS } as const;
  await store.commit(
    seqs.map((accountSeq) => ({ mutation: "set-end-user-limit", accountSeq, endUser: LIMITED_END_USER, limit, atMs }) as const),
  );
  return seqs;
};

const PER_MS = 4096;
const RANDOM_CHARS = 10;

/** Creates generation names across all nodes and lives: increasing row numbers, deterministic ids. */
export const createNames = (): NodeEnvironment["nameGeneration"] => {
  let last = 0;
  return (nowMs) => {
    last = Math.max(Math.floor(nowMs - msOfGenerationSeq(0)) * PER_MS, last + 1);
    return { seq: last, id: `${generationId(last).slice(0, -RANDOM_CHARS)}${"0".repeat(RANDOM_CHARS)}` };
  };
};
