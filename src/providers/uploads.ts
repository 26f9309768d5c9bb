// Uploads a file to the storage of a provider, before a submission.
//
// An upload buys nothing and may be repeated.
import type { Failure, FailureClass, FileBytes } from "../domain/types.ts";
import { isOfAccount } from "./credential-check.ts";
import type { Called } from "./http-call.ts";
import { detailOf, readNoJob } from "./parse-response.ts";
import type { ProviderRequest, ProviderResponse, StorageUpload } from "./port.ts";
import type { ProviderClient } from "./provider-client.ts";
import { fileNameOf } from "./request-body.ts";

/** A file to upload to a provider's storage: the reference of its attempt, and its number in the generation. */
export type InputUpload = { file: FileBytes; mime: string; ref: string; n: number };
export type UploadFile = InputUpload & { name: string };
/**
 * `value`: the URL or the id that stands in the submission. `mayPass`: the same upload may succeed now, because neither the file
 * nor the credential was refused.
 */
export type Uploaded = { value: string } | { failure: Failure; mayPass: boolean; isOfAccount?: boolean };

const PASSING: readonly FailureClass[] = ["not_sent", "overloaded", "rate_limited"];

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
  if (called.kind !== "answered")
    return { failure: { class: "not_sent", detail: detailOf(DETAIL, called.detail) }, mayPass: true };
  const { response } = called;
  const failureClass = classOf(client, response, isRequested);
  const failure: Failure = { class: failureClass, detail: detailOf(DETAIL, response.status) };
  const mayPass = PASSING.includes(failureClass);
  const blames = isRequested && isOfAccount(client.adapter, response, "submitting", failureClass);
  return { failure, mayPass, ...(blames ? { isOfAccount: true } : {}) };
};

const isOk = (called: Called): called is Extract<Called, { kind: "answered" }> =>
  called.kind === "answered" && called.response.status >= 200 && called.response.status < 300;

/** Uploads a file in one of the forms of the provider's dialect. */
export const uploadTo = async (
  client: ProviderClient,
  form: StorageUpload,
  input: InputUpload,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Uploaded> => {
  const upload = { ...input, name: fileNameOf(`${input.ref}-${input.n}`, input.mime) };
  const begun = await client.request(form.request(upload, client.baseUrl), timeoutMs, signal, { ref: upload.ref });
  if (!isOk(begun)) return failed(client, begun, true);
  const read = form.read(begun.response, upload);
  if (read === undefined) return failed(client, begun, true);
  if (read.send === undefined) return { value: read.value };
  const sent = await client.requestPlain(read.send satisfies ProviderRequest, timeoutMs, signal);
  return isOk(sent) ? { value: read.value } : failed(client, sent, false);
};
