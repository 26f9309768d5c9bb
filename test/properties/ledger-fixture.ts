// Fixture of the ledger's property: an image with accounts for several rounds, and the mutations of submissions.

import { generationId } from "../../src/domain/ids.ts";
import type { AdmitGeneration } from "../../src/domain/mutations.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { newGenerationSeq } from "../new-generation.ts";
import { NOW_MS, PRICES } from "../store/fixture.ts";
import { prepareImage } from "./database.ts";

/** Lives played on one database, each with two separate accounts: opening a database costs as much as 100 moves. */
export const ROUNDS = 20;
export const ACCOUNTS_OF_A_ROUND = 2;

/** Row numbers of a round's accounts; the key of each has the same number. */
export const accountsOf = (round: number): number[] =>
  Array.from({ length: ACCOUNTS_OF_A_ROUND }, (_, account) => round * ACCOUNTS_OF_A_ROUND + account + 1);

export const ledgerImage = (): Uint8Array =>
  prepareImage((commit) => {
    for (let seq = 1; seq <= ROUNDS * ACCOUNTS_OF_A_ROUND; seq += 1) {
      commit({ mutation: "create-account", id: `acc_${seq}`, name: "Ada", atMs: NOW_MS });
      const key = { id: `key_${seq}`, accountSeq: seq, name: "", hash: String(seq).padStart(64, "0"), start: "gr", atMs: NOW_MS };
      commit({ mutation: "create-key", scope: "generate", ...key });
    }
  });

/** Two bodies: the same idempotency key with the other body is a conflict. */

export type Wish = { accountSeq: number; routes: number; key: number | null; body: number; limit: number; endUser: boolean };

/** The end user of every account. */
export const END_USER = "ada";

/** The mutation of a submission that may run on the first `routes` routes; `again` is an existing row number. */
export const submissionOf = (input: Wish, again?: { seq: number; id: string }): AdmitGeneration => {
  const seq = again?.seq ?? newGenerationSeq(NOW_MS);
  const prices = Object.entries(PRICES).slice(0, input.routes);
  const request: JsonObject = { input: { prompt: "a fox in the snow" }, n: input.body };
  const body = JSON.stringify(request);
  return {
    mutation: "admit",
    seq,
    id: again?.id ?? generationId(seq),
    accountSeq: input.accountSeq,
    keySeq: input.accountSeq,
    model: "vidmodel-2.0",
    idempotencyKey: input.key === null ? null : `key-${input.key}`,
    body,
    added: {},
    plan: prices.map(([routeId, priceCredits]) => ({
      ...{ routeId, priceCredits, timeoutMs: 600_000, onRefusal: "fail", onLost: "next" },
    })),
    quotedCredits: PRICES.a,
    reservedCredits: prices.at(-1)?.[1] ?? PRICES.a,
    maxCostCredits: 10_000,
    inProgressLimit: input.limit,
    createdAtMs: NOW_MS,
    waitEndsAtMs: NOW_MS + 3_600_000,
    requestId: "req_1",
    ...(input.endUser ? { labels: { metadata: null, endUser: END_USER } } : {}),
  };
};
