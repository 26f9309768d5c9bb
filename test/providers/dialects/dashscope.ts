// Dialect case of DashScope: recorded responses from its documentation and SDK tests, and its deviations.
import type { DialectCase, Recorded } from "./contract.ts";

const ID = "0385dc79-5ff8-4d82-bcb6-7d4c1d2b8f01";
const REQUEST = "4909100c-7b5a-9f92-bfe5-0a3c1d2b8f02";
const VIDEO = "https://dashscope-result-sgp.oss-ap-southeast-1.aliyuncs.com/1d/2f/0385dc79.mp4?Expires=1795086400";

const error = (code: string, message: string) => ({ code, message, request_id: REQUEST });
const task = (output: object, usage?: object) => ({
  ...{ request_id: REQUEST, output: { task_id: ID, ...output } },
  ...(usage && { usage }),
});
const rejected = (failureClass: string) => ({ kind: "rejected", failure: { class: failureClass } });
const failed = (failureClass: string) => ({ kind: "failed", failure: { class: failureClass } });

const recorded: Recorded[] = [
  {
    ...{ name: "a task that was created", of: "submit", status: 200 },
    body: { output: { task_status: "PENDING", task_id: ID }, request_id: REQUEST },
    outcome: { kind: "accepted", job: { jobId: ID } },
  },
  {
    ...{ name: "a wrong key", of: "submit", status: 401 },
    body: error("InvalidApiKey", "Invalid API-key provided."),
    outcome: rejected("config_fault"),
  },
  {
    ...{ name: "a request without the asynchronous mode", of: "submit", status: 403 },
    body: error("AccessDenied", "current user api does not support synchronous calls."),
    outcome: rejected("config_fault"),
  },
  {
    ...{ name: "a model without access", of: "submit", status: 403 },
    body: error("AccessDenied.Unpurchased", "Access to model denied. Please make sure you are eligible for using the model."),
    outcome: rejected("config_fault"),
  },
  {
    ...{ name: "an account in arrears", of: "submit", status: 400 },
    body: error("Arrearage", "Access denied, please make sure your account is in good standing."),
    outcome: rejected("balance"),
  },
  {
    ...{ name: "an exhausted free tier", of: "submit", status: 403 },
    body: error("AllocationQuota.FreeTierOnly", "The free tier of the model has been exhausted."),
    outcome: rejected("balance"),
  },
  {
    ...{ name: "too many requests", of: "submit", status: 429 },
    body: error("Throttling.RateQuota", "Requests rate limit exceeded, please try again later."),
    outcome: rejected("rate_limited"),
  },
  {
    ...{ name: "an invalid size", of: "submit", status: 400 },
    body: error("InvalidParameter", "Required parameter(s) missing or invalid, please check the request parameters."),
    outcome: rejected("invalid_for_route"),
  },
  {
    ...{ name: "an immediately refused prompt", of: "submit", status: 400 },
    body: error("DataInspectionFailed", "Input data may contain inappropriate content."),
    outcome: rejected("refused_input"),
  },
  {
    ...{ name: "a running task", of: "poll", job: ID, status: 200 },
    body: task({
      ...{ task_status: "RUNNING", submit_time: "2026-11-21 10:00:00.896", scheduled_time: "2026-11-21 10:00:09.009" },
    }),
    outcome: { kind: "pending", seen: "RUNNING" },
  },
  {
    ...{ name: "a finished clip", of: "poll", job: ID, status: 200 },
    body: task(
      {
        ...{ task_status: "SUCCEEDED", submit_time: "2026-11-21 10:00:00.896", scheduled_time: "2026-11-21 10:00:09.009" },
        ...{ end_time: "2026-11-21 10:03:01.110", orig_prompt: "a fox in snow", video_url: VIDEO },
      },
      { duration: 5, input_video_duration: 0, output_video_duration: 5, video_count: 1, SR: 720, ratio: "16:9" },
    ),
    outcome: { kind: "announced", results: [{ url: VIDEO }] },
  },
  {
    ...{ name: "two images, one of them failed", of: "poll", job: ID, status: 200 },
    body: task({
      task_status: "SUCCEEDED",
      results: [{ url: "https://oss.example/1.png" }, { code: "InternalError.Timeout", message: "An internal timeout error." }],
      task_metrics: { TOTAL: 2, SUCCEEDED: 1, FAILED: 1 },
    }),
    outcome: { kind: "announced", results: [{ url: "https://oss.example/1.png" }] },
  },
  {
    ...{ name: "a refused prompt", of: "poll", job: ID, status: 200 },
    body: task({
      ...{ task_status: "FAILED", code: "DataInspectionFailed", message: "Input data may contain inappropriate content." },
    }),
    outcome: failed("refused_input"),
  },
  {
    // The code is that of a refused prompt; only the message differs.
    ...{ name: "a withheld clip", of: "poll", job: ID, status: 200 },
    body: task({
      ...{ task_status: "FAILED", code: "DataInspectionFailed", message: "Output data may contain inappropriate content." },
    }),
    outcome: failed("refused_output"),
  },
  {
    ...{ name: "an input image that it cannot fetch", of: "poll", job: ID, status: 200 },
    body: task({
      ...{ task_status: "FAILED", code: "InvalidParameter.DataInspection" },
      message: "Unable to download the media resource during the data inspection process.",
    }),
    outcome: failed("input_unreachable"),
  },
  {
    ...{ name: "an unsuitable size", of: "poll", job: ID, status: 200 },
    body: task({ task_status: "FAILED", code: "InvalidParameter", message: "The size is not match xxxxxx" }),
    outcome: failed("invalid_for_route"),
  },
  {
    ...{ name: "a task older than one day", of: "poll", job: ID, status: 200 },
    body: task({ task_status: "UNKNOWN" }),
    outcome: { kind: "gone" },
  },
  {
    // Nothing in the list identifies our task.
    ...{ name: "a list that may contain the lost task", of: "find", status: 200 },
    body: {
      request_id: "31a80745-990d-958b-ad1c-fd51f17a6996",
      data: [
        {
          ...{ api_key_id: "1", caller_parent_id: "2", caller_uid: "3", region: "cn-beijing", status: "SUCCEEDED" },
          ...{ gmt_create: 1691561394828, start_time: 1691561395295, end_time: 1691561396394 },
          ...{ model_name: "pre-offline-file-embedding", request_id: "5ddcdba0-9b22-93c1-946e-1eb152b77efa" },
          task_id: "bb7c1bdb-d8de-4619-83b8-9ad3c3313def",
          user_api_unique_key: "apikey:v1:embeddings:text-embedding:text-embedding:pre-offline-file-embedding",
        },
      ],
      ...{ total: 1, total_page: 1, page_no: 1, page_size: 10 },
    },
    outcome: {
      ...{ kind: "page", next: "2" },
      candidates: [{ job: { jobId: "bb7c1bdb-d8de-4619-83b8-9ad3c3313def" }, match: "possible" }],
    },
  },
];

export const dashscope: DialectCase[] = [
  {
    ...{ provider: "dashscope", endpoint: "wan2.7-t2v", recorded },
    // Its list shows neither our reference nor the input.
    lost: "unclear",
    options: { values: { service: "video-generation/video-synthesis" } },
    input: { prompt: "a fox in snow", resolution: "720p", duration: 5, aspect_ratio: "16:9" },
  },
];
