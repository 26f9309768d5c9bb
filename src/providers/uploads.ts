// Files for a provider: sent to its own storage before a submission, or put inside the request as it is sent.
import type { Failure, Json, PinnedCopy } from "../domain/types.ts";
import { isOfAccount } from "./credential-check.ts";
import type { Called } from "./http-call.ts";
import { readNoJob } from "./parse-response.ts";
import type { ProviderRequest } from "./port.ts";
import type { ProviderClient } from "./provider-client.ts";

/** A file as a provider's storage is given it. */
export type UploadFile = { file: Blob; mime: string; name: string };
export type Uploaded = { url: string } | { failure: Failure; isOfAccount?: boolean };

/**
 * What was sent to a provider's storage bought nothing: only whether it is there matters.
 * @param asked the provider itself, which knows our key; absent for a storage, which knows none
 */
const failed = (called: Called, asked?: ProviderClient["adapter"]): Exclude<Uploaded, { url: string }> => {
  if (called.kind !== "answered") return { failure: { class: "not_sent", detail: called.detail } };
  const { response } = called;
  const outcome = readNoJob(response, response.text.slice(0, 300));
  const failureClass = outcome.kind === "rejected" ? outcome.failure.class : "overloaded";
  const failure: Failure = { class: failureClass, detail: `upload: ${response.status}` };
  return asked && isOfAccount(asked, response, "submitting", failureClass) ? { failure, isOfAccount: true } : { failure };
};
const isOk = (called: Called): called is Extract<Called, { kind: "answered" }> =>
  called.kind === "answered" && called.response.status >= 200 && called.response.status < 300;

/** Brings a file to the provider's storage. May be repeated: what is left there twice costs nothing. */
export const uploadTo = async (
  desk: ProviderClient,
  upload: UploadFile,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Uploaded> => {
  const { upload: means } = desk.adapter;
  if (means?.as !== "upload") return { failure: { class: "invalid_for_route", detail: "the provider takes no uploads" } };
  const begun = await desk.ask(means.request(upload, desk.baseUrl), timeoutMs, signal);
  if (!isOk(begun)) return failed(begun, desk.adapter);
  const read = means.read(begun.response);
  if (read === undefined) return { failure: { class: "overloaded", detail: "upload: the answer names no address" } };
  if (read.putAt === undefined) return { url: read.url };
  const { file, mime, name } = upload;
  const put: ProviderRequest = {
    ...{ method: "PUT", url: read.putAt, headers: { "content-type": mime } },
    file: { field: null, name, mime, bytes: file },
  };
  const sent = await desk.askPlainly(put, timeoutMs, signal);
  return isOk(sent) ? { url: read.url } : failed(sent);
};

/** Opens the file that a place names; undefined when it is gone. */
export type OpenCopy = (copy: Pick<PinnedCopy, "n" | "sha256" | "mime">) => Promise<Blob | undefined>;

const PLACE = /^genrouter-input:(\d{1,2}):([0-9a-f]{64}):(data_uri|base64):([\w.+/-]{1,80})$/;

/** What stands in a request that is written down in the place of a file: which file it is, and how it is put in. */
export const uploadUrlOf = (text: "data_uri" | "base64", { n, sha256, mime }: PinnedCopy): string =>
  `genrouter-input:${n}:${sha256}:${text}:${mime}`;

/** Whether a text is such a place. */
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
 * Puts the bytes into a request where it has places for them: the same bytes each time, for a place names its file by its hash.
 * @returns undefined when a file is gone
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
