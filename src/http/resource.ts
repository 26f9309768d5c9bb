// Converts a record to the resource of §2.1 and §2.2, in USD and links.
//
// No other module converts credits to USD or files to links in API responses.
import type { Credits, GenerationRecord, Labels, Output } from "../domain/types.ts";
import type { UploadedFile } from "../domain/upload-mutations.ts";
import type { Cancellation } from "../generations/cancel.ts";

/** Creates the absolute link of file `n` of a generation. Its path ends in the extension of the type. */
export type LinkTo = (generationId: string, n: number, mime: string) => string;

/** §1: 100 credits = 1 USD. Up to 2^53 credits, the quotient of a whole number prints with at most two decimals. */
export const usd = (credits: Credits): number => credits / 100;

/** Most calls have the same millisecond as the previous one, so the last timestamp is cached. */
let isoMs = Number.NaN;
let isoText = "";
const iso = (ms: number): string => {
  if (ms !== isoMs) {
    isoText = `"${new Date(ms).toISOString()}"`;
    isoMs = ms;
  }
  return isoText;
};

const outputJson = (id: string, output: Output, linkTo: LinkTo): string => {
  const urls = output.files.map((file) => JSON.stringify(linkTo(id, file.n, file.mime)));
  let json = `{"urls":[${urls.join(",")}]`;
  if (output.kind !== "audio") {
    if (output.width !== undefined) json += `,"width":${output.width}`;
    if (output.height !== undefined) json += `,"height":${output.height}`;
  }
  if (output.kind === "video") {
    if (output.durationMs !== undefined) json += `,"duration_s":${output.durationMs / 1000}`;
    if (output.hasAudio !== undefined) json += `,"has_audio":${output.hasAudio}`;
  }
  return `${json}}`;
};

/**
 * The generation resource as JSON. It is concatenated by hand, because every poll needs one and this takes about a third of the
 * time of building and serializing an object. `message` is present only while a result is being confirmed.
 */
export const resourceJson = (record: GenerationRecord, linkTo: LinkTo): string => `${openJson(record, linkTo)}}`;

/** The resource with the time since which a cancellation is pending. Polls do not have this member. */
export const cancellationJson = ({ record, requestedAtMs }: Cancellation, linkTo: LinkTo): string =>
  `${openJson(record, linkTo)}${requestedAtMs === null ? "" : `,"cancel_requested_at":${iso(requestedAtMs)}`}}`;

/** Metadata and end user, only where the request was made with them. */
const labelsJson = (labels: Labels | null): string => {
  if (labels === null) return "";
  const metadata = labels.metadata === null ? "" : `,"metadata":${JSON.stringify(labels.metadata)}`;
  return labels.endUser === null ? metadata : `${metadata},"end_user":${JSON.stringify(labels.endUser)}`;
};

/** The resource without the brace at its end. */
const openJson = (record: GenerationRecord, linkTo: LinkTo): string => {
  const isOver = record.status === "succeeded" || record.status === "failed";
  const message = record.message === null || record.status !== "running" ? "" : `"message":${JSON.stringify(record.message)},`;
  const output = record.status !== "succeeded" || record.output === null ? "null" : outputJson(record.id, record.output, linkTo);
  const cost = isOver && record.costCredits !== null ? usd(record.costCredits) : "null";
  const error = record.status !== "failed" || record.error === null ? "null" : JSON.stringify(record.error);
  return (
    `{"id":"${record.id}","object":"generation","model":${JSON.stringify(record.model)},"status":"${record.status}",${message}` +
    `"output":${output},"quoted_usd":${usd(record.quotedCredits)},` +
    `"reserved_usd":${isOver ? "null" : usd(record.reservedCredits)},"cost_usd":${cost},` +
    `"attempts":${record.attempts},"error":${error},"created_at":${iso(record.createdAtMs)},` +
    `"completed_at":${record.completedAtMs === null ? "null" : iso(record.completedAtMs)}${labelsJson(record.labels)}`
  );
};

/** The resource of an uploaded file as JSON. A measurement that does not apply to its kind, or is not known, is null. */
export const fileJson = (file: UploadedFile, url: string): string => {
  const { id, kind, mime, bytes, sha256, width = null, height = null, ms, createdAtMs, expiresAtMs } = file;
  return JSON.stringify({
    ...{ id, object: "file", kind, content_type: mime, bytes, sha256, width, height },
    duration_s: ms === undefined || kind === "image" ? null : ms / 1000,
    ...{ url, created_at: new Date(createdAtMs).toISOString(), expires_at: new Date(expiresAtMs).toISOString() },
  });
};
