// What a provider tells of a job at its attempt's own address: a hint to ask it, and never more than that.

import { refuse } from "../../domain/api-errors.ts";
import type { Json } from "../../domain/types.ts";
import type { Callbacks } from "../../providers/callback-urls.ts";
import { parseJson, readBody } from "../body.ts";
import { type Answer, answerJson } from "../response.ts";

/** Told of a callback that was genuine; `body` is whatever came with it. */
export type CallbackReceived = (ref: string, body: Json | undefined) => void | Promise<void>;

const LONGEST_CHALLENGE = 1_000;

/** Some providers ask at first whether the address is ours, by a word that is to be said back. */
const challengeIn = (body: Json | undefined): string | undefined => {
  const word = typeof body === "object" && body !== null && !Array.isArray(body) ? body.challenge : undefined;
  return typeof word === "string" && word.length <= LONGEST_CHALLENGE ? word : undefined;
};

/** What came is JSON, or it says nothing: a provider is not told that it writes badly. */
const jsonOf = async (request: Request): Promise<Json | undefined> => {
  const bytes = await readBody(request);
  try {
    return parseJson(bytes).value;
  } catch {
    return undefined;
  }
};

/** @throws Refusal `not_found` for an address that was not made here */
export const callback =
  (callbacks: Callbacks, told: CallbackReceived): Answer =>
  async (request, requestId, params) => {
    const { ref = "", mac = "" } = params;
    if (!callbacks.isGenuine(ref, mac)) return refuse("not_found", "No such path; see /openapi.json for those there are.");
    const body = await jsonOf(request);
    await told(ref, body);
    const challenge = challengeIn(body);
    return answerJson(200, JSON.stringify(challenge === undefined ? {} : { challenge }), requestId);
  };
