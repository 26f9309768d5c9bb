// fal error types and the failure class of each.
//
// A model reports its types in `detail[].type`, the platform in `error_type`.
import { Type } from "@sinclair/typebox";
import { schemaCheck } from "../domain/compiled-schema.ts";
import type { FailureClass } from "../domain/types.ts";
import type { ProviderResponse } from "./port.ts";

const modelErrors = schemaCheck(
  Type.Object({
    detail: Type.Array(Type.Object({ type: Type.String(), msg: Type.Optional(Type.String()) }), { minItems: 1, maxItems: 100 }),
  }),
);
const platformError = schemaCheck(
  Type.Object({ detail: Type.Optional(Type.String()), error_type: Type.Optional(Type.String()) }),
);

/** The list of requests has an error format of its own. */
const listError = schemaCheck(
  Type.Object({ error: Type.Object({ type: Type.Optional(Type.String()), message: Type.Optional(Type.String()) }) }),
);
const listWords = ({ error: { type, message } }: { error: { type?: string; message?: string } }) => ({
  ...(type === undefined ? {} : { error_type: type }),
  ...(message === undefined ? {} : { detail: message }),
});

/** Type → class. A type that ends in `*` is a prefix. fal does not distinguish a refused input from a refused output. */
const CLASSES: readonly (readonly [string, FailureClass])[] = [
  ["content_policy_violation", "refused_input"],
  ["no_media_generated", "job_failed"],
  ["file_download_error", "input_unreachable"],
  ["image_load_error", "input_unreachable"],
  ["image_too_small", "invalid_for_route"],
  ["image_too_large", "invalid_for_route"],
  ["image_aspect_ratio_error", "invalid_for_route"],
  ["file_too_large", "invalid_for_route"],
  ["audio_duration_*", "invalid_for_route"],
  ["video_duration_*", "invalid_for_route"],
  ["feature_not_supported", "invalid_for_route"],
  ["sequence_too_long", "invalid_for_route"],
  ["unsupported_*", "invalid_for_route"],
  ["generation_timeout", "job_failed"],
  ["downstream_service_error", "job_failed"],
  ["downstream_service_unavailable", "job_failed"],
  ["internal_server_error", "job_failed"],
  ["internal_error", "job_failed"],
  ["request_timeout", "job_failed"],
  ["startup_timeout", "job_failed"],
  ["client_cancelled", "job_failed"],
  ["client_disconnected", "job_failed"],
  ["runner_*", "overloaded"],
];

/** The class of an error type; undefined if the table does not contain the type. */
export const classOfType = (type: string | undefined): FailureClass | undefined =>
  type === undefined
    ? undefined
    : CLASSES.find(([known]) => (known.endsWith("*") ? type.startsWith(known.slice(0, -1)) : type === known))?.[1];

/** Regular expressions read at most this many characters of the error text. */
const MAX_READ = 2_000;

/** An error response: its decisive type, the class of that type, and its text. */
export type FalError = { type: string | undefined; class: FailureClass | undefined; text: string };

/**
 * Parses either error format. Of several model errors the first with a known type decides. A content refusal has precedence over
 * all others, because it ends the generation.
 */
export const readFalError = (r: ProviderResponse): FalError => {
  const text = readShape(r);
  return { ...text, text: text.text.slice(0, MAX_READ) };
};

const readShape = (r: ProviderResponse): FalError => {
  if (modelErrors.Check(r.json)) {
    const { detail } = r.json;
    const first =
      detail.find(({ type }) => classOfType(type) === "refused_input") ??
      detail.find(({ type }) => classOfType(type) !== undefined) ??
      detail[0];
    return { type: first?.type, class: classOfType(first?.type), text: `${first?.type} ${first?.msg ?? ""}` };
  }
  const flat = platformError.Check(r.json) ? r.json : listError.Check(r.json) ? listWords(r.json) : {};
  const type = flat.error_type ?? r.headers["x-fal-error-type"];
  const text = [type, flat.detail ?? (r.json === undefined ? r.text.slice(0, 300) : "")].filter(Boolean).join(" ");
  return { type, class: classOfType(type), text };
};
