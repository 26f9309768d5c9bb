// Input files for a provider: uploaded to its storage, or inserted into the request.
//
// An upload precedes the submission; an insertion happens when the request is sent.
import type { Failure, Json, PinnedCopy } from "../domain/types.ts";
import { isOfAccount } from "./credential-check.ts";
import type { Called } from "./http-call.ts";
import { readNoJob } from "./parse-response.ts";
import type { ProviderRequest } from "./port.ts";
import type { ProviderClient } from "./provider-client.ts";

/** A file to upload to a provider's storage. */
export type UploadFile = { file: Blob; mime: string; name: string };
export type Uploaded = { url: string } | { failure: Failure; isOfAccount?: boolean };

/**
 * The failure of an upload. An upload bought nothing, so no outcome is ambiguous. @param requested the adapter, if the provider
 * itself responded; absent for a storage host, which receives no credential
 */
const failed = (called: Called, requested?: ProviderClient["adapter"]): Exclude<Uploaded, { url: string }> => {
  if (called.kind !== "answered") return { failure: { class: "not_sent", detail: called.detail } };
  const { response } = called;
  const outcome = readNoJob(response, response.text.slice(0, 300));
  const failureClass = outcome.kind === "rejected" ? outcome.failure.class : "overloaded";
  const failure: Failure = { class: failureClass, detail: `upload: ${response.status}` };
  return requested && isOfAccount(requested, response, "submitting", failureClass) ? { failure, isOfAccount: true } : { failure };
};
const isOk = (called: Called): called is Extract<Called, { kind: "answered" }> =>
  called.kind === "answered" && called.response.status >= 200 && called.response.status < 300;

/** Uploads a file to the provider's storage. May be repeated: a second copy costs nothing. */
export const uploadTo = async (
  client: ProviderClient,
  upload: UploadFile,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Uploaded> => {
  const { upload: means } = client.adapter;
  if (means?.as !== "upload") return { failure: { class: "invalid_for_route", detail: "the provider takes no uploads" } };
  const begun = await client.request(means.request(upload, client.baseUrl), timeoutMs, signal);
  if (!isOk(begun)) return failed(begun, client.adapter);
  const read = means.read(begun.response);
  if (read === undefined) return { failure: { class: "overloaded", detail: "upload: the answer names no address" } };
  if (read.putAt === undefined) return { url: read.url };
  const { file, mime, name } = upload;
  const put: ProviderRequest = {
    ...{ method: "PUT", url: read.putAt, headers: { "content-type": mime } },
    file: { field: null, name, mime, bytes: file },
  };
  const sent = await client.requestPlain(put, timeoutMs, signal);
  return isOk(sent) ? { url: read.url } : failed(sent);
};

/** Opens the file that a placeholder names; undefined if the file is deleted. */
export type OpenCopy = (copy: Pick<PinnedCopy, "n" | "sha256" | "mime">) => Promise<Blob | undefined>;

const PLACE = /^genrouter-input:(\d{1,2}):([0-9a-f]{64}):(data_uri|base64):([\w.+/-]{1,80})$/;

/** The placeholder for a file in a stored request: the identity of the file, and its encoding. */
export const uploadUrlOf = (
  text: "data_uri" | "base64",
  { n, sha256, mime }: Pick<PinnedCopy, "n" | "sha256" | "mime">,
): string => `genrouter-input:${n}:${sha256}:${text}:${mime}`;

/** Whether a text is such a placeholder. */
export const isUploadUrl = (text: string): boolean => PLACE.test(text);

const filling = async (places: readonly string[], open: OpenCopy) => {
  const texts = new Map<string, string>();
  for (const place of places) {
    const [, n, sha256 = "", text, mime = ""] = PLACE.exec(place) ?? [];
    const file = await open({ n: Number(n), sha256, mime });
    if (!file) return undefined;
    const base64 = Buffer.from(await file.arrayBuffer()).toString("base64");
    texts.set(place, text === "base64" ? base64 : `data:${mime};base64,${base64}`);
  }
  return texts;
};

const filled = (value: Json, texts: ReadonlyMap<string, string>): Json => {
  if (typeof value === "string") return texts.get(value) ?? value;
  if (Array.isArray(value)) return value.map((one) => filled(one, texts));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one, texts)]));
};

/**
 * Inserts the file bytes at the placeholders of a request. The bytes are the same each time, because a placeholder identifies its
 * file by hash. @returns undefined if a file is deleted
 */
export const fill = async (
  request: ProviderRequest,
  places: readonly string[],
  open: OpenCopy,
): Promise<ProviderRequest | undefined> => {
  if (places.length === 0) return request;
  const texts = await filling(places, open);
  if (texts === undefined) return undefined;
  const { body, form } = request;
  return {
    ...request,
    ...(body === undefined ? {} : { body: filled(body, texts) }),
    ...(form === undefined ? {} : { form: filled(form, texts) as Record<string, string> }),
  };
};
