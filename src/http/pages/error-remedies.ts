// Remedies for each error: a sentence for every code of §7 and every generation error.
import type { ApiErrorCode } from "../../domain/api-errors.ts";
import type { GenerationErrorCode } from "../../domain/types.ts";

/** By API error code. src/domain/api-errors.ts defines whether and when the same request may be sent again. */
export const REMEDIES: Readonly<Record<ApiErrorCode, string>> = {
  not_found:
    "Check the id, and that the key belongs to the account that submitted the generation. Files are deleted some days after success, so download them soon. An expired or altered file link returns 403 with this code; poll the generation for a new link.",
  unauthorized: "Send `Authorization: Bearer <key>` with a complete key that is not revoked and has not expired.",
  account_disabled: "Ask the operator of the service why the account is paused. Accepted generations continue.",
  generation_not_enabled:
    "Use a key with the scope `generate`; a key may be limited to some models, which the message then lists.",
  rate_limited: "Wait the seconds of Retry-After, then send the same request again. Poll at intervals of a few seconds.",
  body_too_large: "Upload media with `POST /v1/files`, or to a public server, and send its URL instead of its bytes.",
  invalid_request:
    "The message names the field and what is allowed. Fields of a model belong inside `input`. With status 405, use a method of the Allow header. With status 416, request a range inside the file.",
  idempotency_conflict:
    "Use a new Idempotency-Key for a new request; repeat the original body with identical values to get the original generation.",
  restarting: "Wait the seconds of Retry-After, then send the same request with the same Idempotency-Key.",
  busy: "Wait the seconds of Retry-After, then send the same request with the same Idempotency-Key.",
  model_not_available: "Choose an id of `GET /v1/models`, which lists the models that are available now.",
  invalid_input:
    "The message names the field and what is allowed; the `options` of the model in `GET /v1/models` list all rules. Media are public https URLs that download directly, or files of this service.",
  max_cost_exceeded: "Raise `max_cost_usd`, or request a lower resolution or fewer seconds.",
  model_unavailable:
    "Wait the seconds of Retry-After and send the same request with the same Idempotency-Key, or use another model.",
  concurrency_limit:
    "Wait until one of the account's generations or uploads has finished, then send the same request again. With status 423, wait until the other request to the same upload has ended.",
  insufficient_credits:
    "Add credits, or wait until a generation that holds credits has finished. A lower `max_cost_usd` reduces the hold. Added credits pay a debt first. A key and an end user may have limits per day, week or month; the message names the limit and the time of its reset.",
  not_ended: "Cancel the generation, or poll it until it has ended, and delete it then.",
  already_ended: "Poll the generation: its result is final, and a succeeded generation was charged.",
  upload_quota_exceeded: "Delete files that are not needed with `DELETE /v1/files/{id}`, or wait until some have expired.",
  file_in_use: "Wait until the generations that name the file have ended, then delete it.",
  not_ready: "Poll the generation until its `status` is `succeeded`, then download.",
  server_error:
    "Send the same request again with the same Idempotency-Key. Report the X-Request-Id to the operator if it persists.",
};

/** By `error.code` of a generation with status `failed`: its cause and its remedy. None of them is charged. */
export const FAILURES: Readonly<Record<GenerationErrorCode, { when: string; remedy: string }>> = {
  input_refused: {
    when: "The content rules of a model's provider refused the input, or a media link did not return the file that was measured at submission. The file had changed, arrived too late, was too large, or its server was unreachable.",
    remedy: "Change the prompt or the media as described in `error.message`. The provider will refuse the same input again.",
  },
  provider_failed: {
    when: "Every route that could run the generation was tried and failed.",
    remedy: "Submit again with a new Idempotency-Key, later or with another model.",
  },
  timed_out: {
    when: "The waiting time (`max_wait_s`; 1 day by default) expired before a route delivered.",
    remedy: "Submit again with a new Idempotency-Key and a longer `max_wait_s`, or without it.",
  },
  provider_unavailable: {
    when: "No route could run the generation when it left the run queue.",
    remedy: "Submit again with a new Idempotency-Key after some minutes, or use another model.",
  },
  cancelled: {
    when: "A cancel request ended the generation before a route delivered.",
    remedy: "Submit again with a new Idempotency-Key if the result is needed after all.",
  },
};
