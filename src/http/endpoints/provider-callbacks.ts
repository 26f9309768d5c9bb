// Serves provider callbacks; a callback only triggers a poll of its attempt.

import { NO_SUCH_PATH, refuse } from "../../domain/api-errors.ts";
import type { Json } from "../../domain/types.ts";
import type { Callbacks } from "../../providers/callback-urls.ts";
import { parseJson, readBody } from "../body.ts";
import { type Answer, answerJson } from "../response.ts";

/** Called for an authentic callback; `body` is the JSON body if there is one. */
export type CallbackReceived = (ref: string, body: Json | undefined) => void | Promise<void>;

const MAX_CHALLENGE = 1_000;

/** Returns the challenge in a body. Some providers verify the callback URL by a challenge that must be returned. */
const challengeIn = (body: Json | undefined): string | undefined => {
  const word = typeof body === "object" && body !== null && !Array.isArray(body) ? body.challenge : undefined;
  return typeof word === "string" && word.length <= MAX_CHALLENGE ? word : undefined;
};

/** A body that is not JSON is ignored, and the provider gets no error. */
const jsonOf = async (request: Request): Promise<Json | undefined> => {
  const bytes = await readBody(request);
  try {
    return parseJson(bytes).value;
  } catch {
    return undefined;
  }
};

/** @throws ApiError `not_found` for a callback URL that this service did not create */
export const callback =
  (callbacks: Callbacks, onCallback: CallbackReceived): Answer =>
  async (request, requestId, params) => {
    const { ref = "", mac = "" } = params;
    if (!callbacks.isGenuine(ref, mac)) return refuse("not_found", NO_SUCH_PATH);
    const body = await jsonOf(request);
    await onCallback(ref, body);
    const challenge = challengeIn(body);
    return answerJson(200, JSON.stringify(challenge === undefined ? {} : { challenge }), requestId);
  };
