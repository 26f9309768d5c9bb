// Dialect case of PixVerse: recorded responses from its documentation, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "318633193768896";
const VIDEO = "https://media.pixverse.ai/pixverse%2Fmp4%2Fmedia%2Fweb%2F318633193768896.mp4";
const error = (code: number, message: string) => ({ ErrCode: code, ErrMsg: message, Resp: null });
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
    ...{ name: "a created video", of: "submit", status: 200 },
    body: { ErrCode: 0, ErrMsg: "success", Resp: { video_id: Number(ID) } },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "a wrong parameter", of: "submit", status: 200 },
    body: error(400_017, "invalid param"),
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a too long prompt, which is not a rate limit", of: "submit", status: 200 },
    body: error(400_018, "Prompt/negative prompt length exceeds 2048 characters limit. Please check if your input is too long."),
    outcome: { kind: "rejected", failure: { class: "invalid_for_route" } },
  },
  {
    ...{ name: "a refused text", of: "submit", status: 200 },
    body: error(500_063, "The input text is not compliant, please re-enter"),
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "a refused image", of: "submit", status: 200 },
    body: error(500_054, "Content moderation failure. Image maybe contains inappropriate content."),
    outcome: { kind: "rejected", failure: { class: "refused_input" } },
  },
  {
    ...{ name: "too many concurrent videos", of: "submit", status: 200 },
    body: error(500_044, "Reached the limit for concurrent generations."),
    outcome: { kind: "rejected", failure: { class: "rate_limited" } },
  },
  {
    ...{ name: "an empty balance", of: "submit", status: 200 },
    body: error(500_090, "Insufficient balance. Unable to generate video. Please top up your credits."),
    outcome: { kind: "rejected", failure: { class: "balance" } },
  },
  {
    ...{ name: "an unknown account", of: "submit", status: 200 },
    body: error(400_012, "Invalid account"),
    outcome: { kind: "rejected", failure: { class: "config_fault" } },
  },
  {
    ...{ name: "a high load", of: "submit", status: 200 },
    body: error(500_069, "The system is currently experiencing high load. Please try again later."),
    outcome: { kind: "rejected", failure: { class: "overloaded" } },
  },
  {
    ...{ name: "a reused trace id, whose video may exist", of: "submit", status: 200 },
    body: error(400_017, "invalid param: Ai-trace-id was used before"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a success without a video", of: "submit", status: 200 },
    body: error(0, "Success, within the limit of your credits"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a gateway error with a misleading text", of: "submit", status: 504 },
    body: error(99_999, "load balancer: time limit exceeded"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "an unknown code", of: "submit", status: 200 },
    body: error(500_999, "something new"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a running video", of: "poll", job: ID, status: 200 },
    body: detail(5, ""),
    outcome: { kind: "pending" },
  },
  {
    ...{ name: "a finished video", of: "poll", job: ID, status: 200 },
    body: detail(1, VIDEO),
    outcome: { kind: "announced", results: [{ url: VIDEO, mime: "video/mp4" }] },
  },
  {
    ...{ name: "a withheld video", of: "poll", job: ID, status: 200 },
    body: detail(7, ""),
    outcome: { kind: "failed", failure: { class: "refused_output" } },
  },
  {
    ...{ name: "a deleted video", of: "poll", job: ID, status: 200 },
    body: detail(6, ""),
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "an unknown code with a text about an invalid response", of: "submit", status: 200 },
    body: error(99_999, "invalid response from the scheduler, please query later"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "an unknown code with a text about a limit", of: "submit", status: 200 },
    body: error(99_998, "the limit of the scheduler was reached, auth balance"),
    outcome: { kind: "ambiguous" },
  },
  {
    ...{ name: "a failed video", of: "poll", job: ID, status: 200 },
    body: detail(8, ""),
    outcome: { kind: "failed", failure: { class: "job_failed" } },
  },
  {
    ...{ name: "an unknown video", of: "poll", job: ID, status: 200 },
    body: error(500_008, "Requested data not found"),
    outcome: { kind: "gone" },
  },
  {
    ...{ name: "an unknown account during a poll", of: "poll", job: ID, status: 200 },
    body: error(400_012, "Invalid account"),
    outcome: { kind: "unclear" },
  },
];

export const pixverse: DialectCase[] = [
  {
    ...{ provider: "pixverse", endpoint: "video/text/generate", options: { values: { model: "v6" } }, recorded, lost: "found" },
    input: { prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9" },
    differs: {
      // The model is an ordinary parameter.
      "404": "rejected invalid_for_route",
      // The text is moderated in the submission.
      refuse: "rejected refused_input",
      // It takes no links; images are uploaded first.
      "input-unreachable": null,
    },
  },
];
