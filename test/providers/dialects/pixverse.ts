// PixVerse: bodies from its pages, and where it differs from most.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "318633193768896";
const VIDEO = "https://media.pixverse.ai/pixverse%2Fmp4%2Fmedia%2Fweb%2F318633193768896.mp4";
const refusal = (code: number, message: string) => ({ ErrCode: code, ErrMsg: message, Resp: null });
const detail = (status: number, url: string) => ({
  ErrCode: 0,
  ErrMsg: "Success",
  Resp: {
    ...{ id: Number(ID), prompt: "a fox in snow", negative_prompt: "", resolution_ratio: 2, seed: 123, size: 4_194_304, status },
    ...{ create_time: "2026-11-21T10:00:00Z", modify_time: "2026-11-21T10:00:41Z", outputHeight: 720, outputWidth: 1280 },
    ...{ style: "", url },
  },
});

const recorded: Recorded[] = [
  {
    ...{ name: "a video that was begun", of: "submit", status: 200 },
    body: { ErrCode: 0, ErrMsg: "success", Resp: { video_id: Number(ID) } },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "a wrong parameter in an HTTP 200", of: "submit", status: 200 },
    body: refusal(400_017, "invalid param"),
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a prompt that is too long, which is no limit of pace", of: "submit", status: 200 },
    body: refusal(
      400_018,
      "Prompt/negative prompt length exceeds 2048 characters limit. Please check if your input is too long.",
    ),
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a text that is refused before any work", of: "submit", status: 200 },
    body: refusal(500_063, "The input text is not compliant, please re-enter"),
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "a picture that is refused", of: "submit", status: 200 },
    body: refusal(500_054, "Content moderation failure. Image maybe contains inappropriate content."),
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "too many at a time", of: "submit", status: 200 },
    body: refusal(500_044, "Reached the limit for concurrent generations."),
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "an empty balance", of: "submit", status: 200 },
    body: refusal(500_090, "Insufficient balance. Unable to generate video. Please top up your credits."),
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "an account that it does not know", of: "submit", status: 200 },
    body: refusal(400_012, "Invalid account"),
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "a high load", of: "submit", status: 200 },
    body: refusal(500_069, "The system is currently experiencing high load. Please try again later."),
    outcome: { kind: "rejected", failure: { class: "overloaded" } },
  },
  {
    ...{ name: "a trace that came before: the video may be there", of: "submit", status: 200 },
    body: refusal(400_017, "invalid param: Ai-trace-id was used before"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a success without a video, whatever words are in it", of: "submit", status: 200 },
    body: refusal(0, "Success, within the limit of your credits"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a gateway whose words only look like a limit and a balance", of: "submit", status: 504 },
    body: refusal(99_999, "load balancer: time limit exceeded"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a code that nobody has heard of, which proves nothing", of: "submit", status: 200 },
    body: refusal(500_999, "something new"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a video that is generated", of: "poll", job: ID, status: 200 },
    body: detail(5, ""),
    outcome: { kind: "pending" },
  },
  {
    ...{ name: "a video that is done", of: "poll", job: ID, status: 200 },
    body: detail(1, VIDEO),
    outcome: { kind: "announced", results: [{ url: VIDEO, mime: "video/mp4" }] },
  },
  {
    ...{ name: "a video that moderation withheld", of: "poll", job: ID, status: 200 },
    body: detail(7, ""),
    outcome: { kind: "failed", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a video that was deleted", of: "poll", job: ID, status: 200 },
    body: detail(6, ""),
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a code that nobody has heard of, whatever its words", of: "submit", status: 200 },
    body: refusal(99_999, "invalid response from the scheduler, please query later"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a code that nobody has heard of, that speaks of a limit", of: "submit", status: 200 },
    body: refusal(99_998, "the limit of the scheduler was reached, auth balance"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a video that failed", of: "poll", job: ID, status: 200 },
    body: detail(8, ""),
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "a video that is not there", of: "poll", job: ID, status: 200 },
    body: refusal(500_008, "Requested data not found"),
    outcome: { kind: "gone" },
  },
  {
    ...{ name: "a question with a wrong key, which says nothing about the video", of: "poll", job: ID, status: 200 },
    body: refusal(400_012, "Invalid account"),
    outcome: { kind: "unclear" },
  },
];

export const pixverse: DialectCase[] = [
  {
    ...{ provider: "pixverse", endpoint: "video/text/generate", options: { values: { model: "v6" } }, recorded, lost: "found" },
    input: { prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9" },
    differs: {
      // The model is one parameter of many.
      "404": "rejected invalid_for_route",
      // Words are looked at before any work.
      refuse: "rejected refused_input",
      // It takes no links: pictures are uploaded before.
      "input-unreachable": null,
    },
  },
];
