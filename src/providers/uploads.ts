// Uploads a file to the storage of a provider, before a submission.
//
// An upload buys nothing and may be repeated.
import type { Failure, FailureClass, FileBytes } from "../domain/types.ts";
import { isOfAccount } from "./credential-check.ts";
import type { Called } from "./http-call.ts";
import { detailOf, readNoJob } from "./parse-response.ts";
import type { ProviderRequest, ProviderResponse, StorageUpload } from "./port.ts";
import type { ProviderClient } from "./provider-client.ts";

/** A file to upload to a provider's storage. `ref`: the reference of its attempt. */
export type UploadFile = { file: FileBytes; mime: string; name: string; ref: string };
/** `value`: the URL or the id that stands in the submission. */
export type Uploaded = { value: string } | { failure: Failure; isOfAccount?: boolean };

const DETAIL = "upload";

/** The class of a refusal by the provider's own codes, or by the status of the response. */
const classOf = ({ adapter }: ProviderClient, response: ProviderResponse, isRequested: boolean): FailureClass => {
  const own = isRequested ? adapter.classOf?.(response) : undefined;
  if (own !== undefined && own !== "gone") return own;
  const outcome = readNoJob(response, "");
  return outcome.kind === "rejected" ? outcome.failure.class : "overloaded";
};

/**
 * The failure of an upload. An upload bought nothing, so no outcome is ambiguous. @param isRequested whether the provider itself
 * responded; a storage host receives no credential and has no codes of the provider
 */
const failed = (client: ProviderClient, called: Called, isRequested: boolean): Exclude<Uploaded, { value: string }> => {
  if (called.kind !== "answered") return { failure: { class: "not_sent", detail: detailOf(DETAIL, called.detail) } };
  const { response } = called;
  const failureClass = classOf(client, response, isRequested);
  const failure: Failure = { class: failureClass, detail: detailOf(DETAIL, response.status) };
  const blames = isRequested && isOfAccount(client.adapter, response, "submitting", failureClass);
  return blames ? { failure, isOfAccount: true } : { failure };
};

const isOk = (called: Called): called is Extract<Called, { kind: "answered" }> =>
  called.kind === "answered" && called.response.status >= 200 && called.response.status < 300;

/** Uploads a file in one of the forms of the provider's dialect. */
export const uploadTo = async (
  client: ProviderClient,
  form: StorageUpload,
  upload: UploadFile,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Uploaded> => {
  const begun = await client.request(form.request(upload, client.baseUrl), timeoutMs, signal, { ref: upload.ref });
  if (!isOk(begun)) return failed(client, begun, true);
  const read = form.read(begun.response, upload);
  if (read === undefined) return failed(client, begun, true);
  if (read.send === undefined) return { value: read.value };
  const sent = await client.requestPlain(read.send satisfies ProviderRequest, timeoutMs, signal);
  return isOk(sent) ? { value: read.value } : failed(client, sent, false);
};

/** Whether the same upload may succeed now: a refusal of the file or of the credential stays. */
export const mayRepeat = ({ failure }: Exclude<Uploaded, { value: string }>): boolean =>
  ["not_sent", "overloaded", "rate_limited"].includes(failure.class);
