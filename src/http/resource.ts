// From the record to the resource of §2.1 and §2.2: the one place where credits become USD and files become links.
import type { Credits, GenerationRecord, Output } from "../domain/types.ts";

/** Makes the absolute link of file `n` of a generation. */
export type LinkTo = (generationId: string, n: number) => string;

/** §1: 100 credits = 1 USD. The quotient of a whole number has at most two decimals when printed, up to 2^53 credits. */
export const usd = (credits: Credits): number => credits / 100;

/** Most are asked for times of this very millisecond: the time before is remembered. */
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
  const urls = output.files.map((file) => JSON.stringify(linkTo(id, file.n)));
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
 * The generation object as JSON. Written out by hand, because every poll makes one: about a third of the time of
 * building an object and printing it. `message` is there only while a result is being confirmed.
 */
export const resourceJson = (record: GenerationRecord, linkTo: LinkTo): string => {
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
    `"completed_at":${record.completedAtMs === null ? "null" : iso(record.completedAtMs)}}`
  );
};
