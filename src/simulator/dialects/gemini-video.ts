// Simulates Google's Interactions API for clips as documented.
//
// Interactions are created in the background, polled, cancelled and deleted.
import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../domain/types.ts";
import { type Bench, cancelJob, type DialectResponses, noteOnce, type Problem, takeIn, troubleOf } from "../accept-job.ts";
import type { DialectHandler } from "../dialect-registry.ts";
import { type Fault, isFault, makeFault, numberOf } from "../faults.ts";
import { type Answer, bodyObject, isObject, json, page, type Reply, type SimulatorRequest } from "../http-server.ts";
import { linkOrDataUri } from "../inline-media.ts";
import { endsAtMs, type Job } from "../jobs.ts";
import { googleKeyOf } from "./gemini.ts";

const PROVIDER = "gemini-video";
/** How long interactions of a paying customer are kept. */
const KEPT_MS = 55 * 86_400_000;

/** This API has textual error codes; Google's other APIs have numbers and a separate status. */
const failed = (status: number, code: string, message: string): Reply => json(status, { error: { message, code } });
const notFound = () => failed(404, "not_found", "Requested entity was not found.");

const refused = (fault: Fault): Reply => {
  switch (fault.name) {
    case "401":
      return failed(401, "authentication", "The API key is missing, invalid, or expired.");
    case "402":
      return failed(402, "payment_required", "Your prepaid credit balance is depleted.");
    case "403":
      return failed(403, "permission_denied", "The API key does not have permission for this resource.");
    case "404":
      return failed(404, "model_not_found", "The specified model was not found.");
    case "429":
      return failed(429, "rate_limit_exceeded", "You have exceeded the requests per minute of this model.");
    default:
      return page(numberOf(fault, "status"), "Error");
  }
};

const invalid = ([first]: readonly Problem[]): Reply =>
  failed(
    400,
    first?.type === "unknown" ? "parameter_unknown" : "invalid_request",
    `${first?.field ?? "body"}: ${first?.message}`,
  );

/** The allowed names of each part of a request; any other name is an unknown parameter. */
const NAMES = {
  "": "model agent input background store stream response_format response_modalities response_mime_type generation_config labels webhook_config previous_interaction_id system_instruction tools safety_settings service_tier cached_content environment agent_config continuation_token",
  response_format: "type aspect_ratio resolution duration delivery gcs_uri",
  generation_config:
    "video_config image_config seed max_output_tokens temperature top_p stop_sequences speech_config thinking_level thinking_summaries tool_choice transcription_config",
  video_config: "task",
  input: "type text data uri mime_type name resolution processing",
} as const;
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  aspect_ratio: ["16:9", "9:16"],
  resolution: ["360p", "720p", "1080p", "4k"],
  delivery: ["inline", "uri"],
  type: ["video"],
};
const TASKS = ["text_to_video", "image_to_video", "reference_to_video", "edit", "extend", "upscale"];
const DURATION = /^(?:[3-9]|1[0-5])s$/;

const membersOf = (value: unknown): JsonObject => (isObject(value) ? value : {});
/** `input` is a text, one part, several parts, or steps. Only the user's steps contain parts. */
const partsOf = (input: unknown): JsonObject[] => {
  if (typeof input === "string") return [{ type: "text", text: input }];
  const parts = (Array.isArray(input) ? input : [input]).filter(isObject);
  return parts.flatMap((part) => (part.type === "user_input" ? partsOf(part.content) : [part]));
};
/** The requested response format: one, or a list of them, of which the video format counts here. */
const formatOf = ({ response_format }: JsonObject): JsonObject =>
  membersOf(
    Array.isArray(response_format) ? response_format.filter(isObject).find(({ type }) => type === "video") : response_format,
  );

/** A request has at most 20 MB. */
const MAX_INLINE_MB = 14;
const dataUriOf = ({ mime_type, data }: JsonObject): string => `data:${String(mime_type)};base64,${String(data)}`;

const complaints = (body: JsonObject): Problem[] => {
  const format = formatOf(body);
  const config = membersOf(body.generation_config);
  const { task } = membersOf(config.video_config);
  const parts = partsOf(body.input);
  const unknownFields = (value: JsonObject, part: keyof typeof NAMES): Problem[] =>
    Object.keys(value)
      .filter((name) => !NAMES[part].split(" ").includes(name))
      .map((name) => ({ field: part || null, message: `Unknown parameter ${name}`, type: "unknown" }));
  const wrong = (field: string, isWrong: boolean, message = "The value is not valid"): Problem[] =>
    isWrong ? [{ field, message, type: "value_error" }] : [];
  const isPicture = ({ type }: JsonObject) => type === "image";
  return [
    ...unknownFields(body, ""),
    ...unknownFields(format, "response_format"),
    ...unknownFields(config, "generation_config"),
    ...unknownFields(membersOf(config.video_config), "video_config"),
    ...parts.flatMap((part) => unknownFields(part, "input")),
    ...wrong("model", typeof body.model !== "string" || body.model === "", "Field required"),
    ...Object.entries(CHOICES).flatMap(([name, words]) =>
      wrong(`response_format.${name}`, format[name] !== undefined && !words.includes(String(format[name]))),
    ),
    ...wrong("response_format.duration", format.duration !== undefined && !DURATION.test(String(format.duration))),
    ...wrong("generation_config.video_config.task", task !== undefined && !TASKS.includes(String(task))),
    ...wrong("input", /^(image|reference)_to_video$/.test(String(task)) && !parts.some(isPicture), `${task} needs an image`),
    ...wrong(
      "input",
      parts.some((part) => isPicture(part) && !part.uri && !part.data),
      "An image needs data or a uri",
    ),
    ...wrong(
      "input",
      parts.some((part) => part.data !== undefined && linkOrDataUri(dataUriOf(part), ["image", "video"], MAX_INLINE_MB) === null),
      "The data is not base64 of its mime_type",
    ),
  ];
};

/** A request's body in the common field names. */
const inputOf = (body: JsonObject): JsonObject | undefined => {
  if (body.input === undefined) return undefined;
  const { aspect_ratio, resolution, duration } = formatOf(body);
  const { video_config, seed } = membersOf(body.generation_config);
  const linksOf = (kind: string) =>
    partsOf(body.input)
      .filter(({ type }) => type === kind)
      .map(({ uri, data, mime_type }) =>
        typeof uri === "string" ? uri : dataUriOf({ data: data ?? null, mime_type: mime_type ?? null }),
      );
  const texts = partsOf(body.input).flatMap(({ type, text }) => (type === "text" && text !== undefined ? [text] : []));
  const [pictures, [clip]] = [linksOf("image"), linksOf("video")];
  const isFrame = membersOf(video_config).task === "image_to_video";
  return {
    ...(texts.length === 0 ? {} : { prompt: texts.join("\n") }),
    ...(isFrame && pictures[0] !== undefined ? { image_url: pictures[0] } : {}),
    ...(!isFrame && pictures.length > 0 ? { image_urls: pictures } : {}),
    ...(clip === undefined ? {} : { video_url: clip }),
    ...(aspect_ratio === undefined ? {} : { aspect_ratio }),
    ...(seed === undefined ? {} : { seed }),
    // An edit has the length of its clip; any other request has ten seconds by default. A clip always has sound.
    ...(clip === undefined || duration !== undefined ? { duration: Number.parseInt(String(duration ?? "10s"), 10) } : {}),
    ...{ resolution: resolution ?? "720p", generate_audio: true },
  };
};

const RETRY = "An unexpected error occurred on the server.";
const UNREACHABLE = "Cannot fetch content from the provided URL.";
const REFUSAL = "I can't make this video. Please try another prompt.";

/** The end of an interaction. A refused prompt is `completed` like any other, with text instead of a clip. */
const endOf = async (bench: Bench, job: Job): Promise<JsonObject> => {
  const { run } = job.faults;
  const broken = (code: string, message: string) => ({ status: "failed", errors: [{ code, message }] });
  if (isFault(run, "refuse-output", "withheld"))
    return broken("prohibited_content", "The response was blocked by the content policy.");
  if (isFault(run, "input-unreachable")) return broken("invalid_request", UNREACHABLE);
  if (isFault(run, "fail", "fail-later")) return broken("api_error", RETRY);
  if (isFault(run, "aborted")) return { status: "incomplete" };
  const requested = { type: "user_input", content: [{ type: "text", text: job.input.prompt ?? "" }] };
  if (isFault(run, "refuse"))
    return { status: "completed", steps: [requested, { type: "model_output", content: [{ type: "text", text: REFUSAL }] }] };
  const [file] = await bench.results.hand(job);
  if (!file) return { status: "completed", steps: [requested] };
  // The response contains the clip itself, even if a URL was requested.
  const clip = { type: "video", mime_type: file.mime, data: Buffer.from(file.bytes).toString("base64") };
  const thought = { type: "thought", signature: "c2ltdWxhdGVk" };
  return {
    ...{ status: "completed", steps: [requested, thought, { type: "model_output", content: [clip] }] },
    usage: { total_tokens: 28_972, total_input_tokens: 12, total_output_tokens: 28_960 },
  };
};

const interaction = (bench: Bench, job: Job, rest: JsonObject): JsonObject => {
  const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  return {
    ...{ id: job.id, object: "interaction", model: job.endpoint, created: iso(job.acceptedAtMs) },
    updated: iso(Math.min(bench.clock.nowMs(), endsAtMs(job))),
    ...(job.ref === null ? {} : { labels: { attempt: job.ref } }),
    ...rest,
  };
};

const reported = async (bench: Bench, job: Job): Promise<Answer> => {
  const state = bench.jobs.state(job);
  const trouble = troubleOf(job, state === "done" || state === "cancelled");
  if (typeof trouble === "object") return trouble;
  if (trouble === "gone") return notFound();
  const says = { unknown: "warming_up", "says-done": "completed", "says-running": "in_progress" };
  if (trouble) return json(200, interaction(bench, job, { status: says[trouble] }));
  if (state !== "done") return json(200, interaction(bench, job, { status: state === "cancelled" ? state : "in_progress" }));
  const end = await endOf(bench, job);
  if (end.status === "completed") await noteOnce(bench, job, "announced");
  return json(200, interaction(bench, job, end));
};

const wordsFor = (bench: Bench): DialectResponses => ({
  provider: PROVIDER,
  checksAtOnce: true,
  newId: () => `v1_${randomBytes(24).toString("base64url")}`,
  inputOf,
  complaints,
  markOf: ({ labels }) => membersOf(labels).attempt,
  accepted: (job) => json(200, interaction(bench, job, { status: "in_progress" })),
  withoutId: () => json(200, { object: "interaction", status: "in_progress" }),
  refused,
  invalid,
});

/** Handles a request below the base path, which ends in `/v1beta`. */
export const handleGeminiVideo: DialectHandler = async (
  bench: Bench,
  request: SimulatorRequest,
  path: string,
): Promise<Answer> => {
  const key = googleKeyOf(request);
  if (path === "/interactions" && request.method === "POST") {
    const model = bodyObject(request)?.model;
    return takeIn(bench, wordsFor(bench), request, typeof model === "string" ? model : "", key);
  }
  if (key === undefined) return refused(makeFault("401"));
  const [, id = "", verb] = /^\/interactions\/([\w-]+)(\/cancel)?$/.exec(path) ?? [];
  const job = bench.jobs.find(PROVIDER, id);
  if (!job || job.acceptedAtMs + KEPT_MS < bench.clock.nowMs()) return notFound();
  const state = bench.jobs.state(job);
  if (verb !== undefined && request.method === "POST") {
    if (state === "done" || state === "cancelled") return failed(400, "failed_precondition", "The interaction is not running.");
    await cancelJob(bench, job);
    return json(200, interaction(bench, job, { status: "cancelled" }));
  }
  if (verb !== undefined) return notFound();
  if (request.method === "GET") return reported(bench, job);
  if (request.method !== "DELETE") return notFound();
  bench.jobs.forget(job);
  return json(200, {});
};
