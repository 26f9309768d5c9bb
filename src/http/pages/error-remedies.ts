// Remedies for each error: a sentence for every code of §7 and every generation error.
import type { RefusalCode } from "../../domain/api-errors.ts";
import type { GenerationErrorCode } from "../../domain/types.ts";

/** By API error code. src/domain/api-errors.ts defines whether and when the same request may be sent again. */
export const REMEDIES: Readonly<Record<RefusalCode, string>> = {
  not_found:
    "Check the id and that the key belongs to the account that submitted it. Files are deleted some days after success: download them soon. A file link that has expired or was altered answers 403 with this code: poll the generation for a new one.",
  unauthorized: "Send `Authorization: Bearer <key>` with a whole key that was not revoked and has not expired.",
  account_disabled: "Ask the operator of the service why the account is paused. Accepted generations continue.",
  generation_not_enabled: "Use a key with the scope `generate`; a key may be for some models only, which the message then names.",
  rate_limited: "Wait the seconds of Retry-After, then send the same request again. Poll every few seconds, not faster.",
  body_too_large: "Put media where it can be downloaded and send its https URL instead of its bytes.",
  invalid_request:
    "The message names the field and what is allowed. Fields of a model belong inside `input`. With status 405 the path takes another method (see Allow), with 416 the file has no such range.",
  idempotency_conflict:
    "Use a new Idempotency-Key for a new request; repeat the old body, value for value, to get the old generation.",
  restarting: "Wait the seconds of Retry-After, then send the same request with the same Idempotency-Key.",
  busy: "Wait the seconds of Retry-After, then send the same request with the same Idempotency-Key.",
  model_not_available: "Choose an id of `GET /v1/models`; the list is what can be run at this moment.",
  invalid_input:
    "The message names the field and what is allowed; the model's `options` in `GET /v1/models` say the rest. Media must be public https URLs that download directly.",
  max_cost_exceeded: "Raise `max_cost_usd`, or ask for less: a lower resolution, fewer seconds.",
  model_unavailable:
    "Wait the seconds of Retry-After and send the same request with the same Idempotency-Key, or use another model.",
  concurrency_limit: "Wait until one of the account's generations has finished, then send the same request again.",
  insufficient_credits:
    "Add credits, or wait until a generation that holds some has finished. `max_cost_usd` lowers what is held. A debt is paid by what is added first. A key may have a limit per day, week or month: the message names it and when it resets.",
  not_ready: "Poll the generation until its `status` is `succeeded`, then download.",
  server_error:
    "Send the same request again with the same Idempotency-Key. Report the X-Request-Id to the operator if it persists.",
};

/** By `error.code` of a generation with status `failed`: its cause and its remedy. None of them is charged. */
export const FAILURES: Readonly<Record<GenerationErrorCode, { when: string; remedy: string }>> = {
  input_refused: {
    when: "The content rules of a model's provider refused the input, or a media link did not lead to the file that was measured at submission: it had changed, came too late, was too large, or its server was gone.",
    remedy: "Change the prompt or the media, as `error.message` says; the same input will be refused again by its provider.",
  },
  provider_failed: {
    when: "Every route that could run the generation was tried and failed.",
    remedy: "Submit again with a new Idempotency-Key, later or with another model.",
  },
  timed_out: {
    when: "The waiting time (`max_wait_s`, or a day without it) was over before a route delivered.",
    remedy: "Submit again with a new Idempotency-Key and a longer `max_wait_s`, or none.",
  },
  provider_unavailable: {
    when: "No route could take the generation when its turn came.",
    remedy: "Submit again with a new Idempotency-Key after some minutes, or use another model.",
  },
};
