// fal's list of requests by endpoint: finished requests, newest end first.
//
// The pages include the inputs on request.
import type { JsonObject } from "../domain/types.ts";
import type { Bench } from "./accept-job.ts";
import { falFailure, falResult } from "./fal-result.ts";
import { isFault, numberOf } from "./faults.ts";
import { type Answer, json, type SimulatorRequest } from "./http-server.ts";
import { endsAtMs, type Job } from "./jobs.ts";

const DAY_MS = 86_400_000;

/** Endpoints of the platform have a separate error format. */
const platformError = (status: number, type: string, message: string) =>
  json(status, { error: { type, message, docs_url: `https://docs.fal.ai/errors#${type}`, request_id: crypto.randomUUID() } });

const timeOf = (declared: string | null, byDefault: number): number => (declared === null ? byDefault : Date.parse(declared));

/** The cursor is the page number in base64, as in the documentation's example. */
const pageOf = (cursor: string | null): number => {
  if (cursor === null) return 1;
  const n = Number(Buffer.from(cursor, "base64").toString("utf8"));
  return Number.isInteger(n) && n >= 1 ? n : Number.NaN;
};

/** Whether a result counts as `success`, `user_error` or `error`. */
const kindOfEnd = (status: number) => (status < 400 ? "success" : status < 500 ? "user_error" : "error");

const forgotten = (job: Job) => isFault(job.faults.poll, "forget") && job.polls > 0;

/**
 * `GET /v1/models/requests/by-endpoint?endpoint_id&start&end&status&expand=payloads&limit&cursor`. Lists only finished requests,
 * because the documentation sorts by end and does not mention running ones.
 */
export const listFal = async (bench: Bench, request: SimulatorRequest, credential: string | undefined): Promise<Answer> => {
  if (credential === undefined) return platformError(401, "authorization_error", "Authentication required");
  const endpoints = request.query.getAll("endpoint_id").flatMap((ids) => ids.split(","));
  const { list: fault } = bench.script.choose({ provider: "fal", endpoint: endpoints[0] ?? "", prompt: "" }, ["list"]);
  if (isFault(fault, "list-hang")) return { kind: "hang" };
  if (fault) return platformError(numberOf(fault, "status"), "server_error", "Internal server error");

  const now = bench.clock.nowMs();
  const start = timeOf(request.query.get("start"), now - DAY_MS);
  const end = timeOf(request.query.get("end"), now);
  const limit = Number(request.query.get("limit") ?? 50);
  const page = pageOf(request.query.get("cursor"));
  if (endpoints.length === 0 || endpoints[0] === "") return platformError(400, "validation_error", "endpoint_id is required");
  if (!Number.isFinite(start) || !Number.isFinite(end))
    return platformError(400, "validation_error", "start and end are ISO 8601 times");
  if (!Number.isInteger(limit) || limit < 1 || limit > 100)
    return platformError(400, "validation_error", "limit must be 1 to 100");
  if (Number.isNaN(page)) return platformError(400, "validation_error", "cursor is not valid");

  const wanted = request.query.get("status");
  const found = bench.jobs.of("fal").filter((job) => {
    const endedAtMs = endsAtMs(job);
    return (
      endpoints.includes(job.endpoint) && endedAtMs <= now && endedAtMs >= start && job.acceptedAtMs <= end && !forgotten(job)
    );
  });
  const ofKind = wanted === null ? found : found.filter((job) => wanted === kindOfEnd(falFailure(bench, job)?.status ?? 200));
  ofKind.sort((a, b) => endsAtMs(b) - endsAtMs(a));

  const withPayloads = request.query.getAll("expand").some((names) => names.split(",").includes("payloads"));
  const items: JsonObject[] = [];
  for (const job of ofKind.slice((page - 1) * limit, page * limit)) {
    const result = await falResult(bench, job, request.origin);
    items.push({
      request_id: job.id,
      endpoint_id: job.endpoint,
      sent_at: new Date(job.acceptedAtMs).toISOString(),
      started_at: new Date(Math.min(endsAtMs(job), job.acceptedAtMs + job.plan.queuedMs)).toISOString(),
      ended_at: new Date(endsAtMs(job)).toISOString(),
      status_code: result.status,
      duration: Math.max(0, endsAtMs(job) - job.acceptedAtMs - job.plan.queuedMs) / 1000,
      ...(withPayloads && { json_input: job.input, json_output: JSON.parse(String(result.body)) as JsonObject }),
    });
  }
  const more = ofKind.length > page * limit;
  return json(200, { items, next_cursor: more ? Buffer.from(String(page + 1)).toString("base64") : null, has_more: more });
};
