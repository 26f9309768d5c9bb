// Tests that the fuzzer finds each defect that a proxy in front of the service plants, and nothing without one.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../../src/domain/types.ts";
import { casesOfShare } from "../case-share.ts";
import { dropScratch } from "../scratch.ts";
import { openWorld, type World } from "./fixture.ts";
import { keptCases } from "./kept.ts";
import { playKept, runCases } from "./run.ts";
import { openServed, type Served } from "./served.ts";

type Passing = { request: Request; body: string | undefined; answer: Response; text: string };
/** Changes a response; undefined passes it on. */
type Plant = (passing: Passing) => Response | undefined | Promise<Response | undefined>;
/** Changes the headers of a request before the proxy passes it on. */
type Twist = (headers: Headers, request: Request) => void;

let plant: Plant = () => undefined;
let twist: Twist = () => undefined;
let served: Served;
let world: World;
const dir = mkdtempSync(join(tmpdir(), "planted-"));

const front = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  development: false,
  maxRequestBodySize: 2 ** 30,
  fetch: async (request) => {
    const body = request.body === null ? undefined : await request.text();
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    headers.delete("host");
    twist(headers, request);
    // Unchanged: a decompressed body would be passed on with the Content-Encoding of the compressed one.
    const answer = await fetch(served.url + pathname + search, {
      decompress: false,
      method: request.method,
      headers,
      redirect: "manual",
      signal: request.signal,
      ...(body === undefined ? {} : { body }),
    });
    // The stream of an account has no end.
    if (answer.headers.get("content-type")?.startsWith("text/event-stream")) return answer;
    const text = await answer.clone().text();
    const spoiled = await plant({ request, body, answer, text });
    return spoiled ?? (request.method === "HEAD" ? new Response(null, answer) : answer);
  },
});

beforeAll(async () => {
  served = await openServed(dir);
  world = await openWorld(served, front.url.origin);
});
afterAll(async () => {
  world.books.close();
  await front.stop(true);
  await served.close();
  dropScratch(dir);
});

/** Plays cases until one finds a defect, at most as many as a defect of this kind may need. */
const found = async (): Promise<string> => {
  for (let seed = 1; seed <= 6; seed++) {
    const { findings } = await runCases(world, { cases: 80, lanes: 4, seed, shrinkMs: 0, enough: 1 });
    if (findings.length > 0) return findings.flatMap(({ faults }) => faults).join("\n");
  }
  return "";
};

/** A response with another body, and unchanged headers and status unless given. */
const made = (
  answer: Response,
  text: string,
  more: { status?: number; headers?: Record<string, string | null> } = {},
): Response => {
  const headers = new Headers(answer.headers);
  headers.delete("content-length");
  for (const [name, value] of Object.entries(more.headers ?? {})) {
    if (value === null) headers.delete(name);
    else headers.set(name, value);
  }
  return new Response(text, { status: more.status ?? answer.status, headers });
};
const jsonOf = (text: string): JsonObject => JSON.parse(text) as JsonObject;
const isGeneration = (text: string) => text.includes('"object":"generation"');
/** An error with another message. */
const saying = (answer: Response, text: string, message: string) => {
  const { error } = jsonOf(text) as { error: JsonObject };
  return made(answer, JSON.stringify({ error: { ...error, message } }));
};
const onError =
  (code: string, then: (passing: Passing) => Response | Promise<Response>): Plant =>
  (passing) =>
    passing.request.method !== "HEAD" && passing.text.includes(`"code":"${code}"`) ? then(passing) : undefined;
const keyOf = (request: Request) => request.headers.get("authorization") ?? "";
const order = (authorization: string) =>
  fetch(`${served.url}/v1/generations`, {
    method: "POST",
    headers: { authorization },
    body: '{"model":"sim-image-1","input":{"prompt":"[sim:invalid]"}}',
  });

test("finds nothing without a defect", async () => {
  plant = () => undefined;
  const { findings, done } = await runCases(world, { cases: 120, lanes: 4, seed: 1, shrinkMs: 0 });
  expect(findings).toEqual([]);
  expect(done).toBe(120);
});

test.each(keptCases().map((kept) => [kept.name, kept.case] as const))(
  "passes the kept case of an earlier failure: %s",
  async (_name, kept) => {
    plant = () => undefined;
    expect(await playKept(world, kept)).toEqual([]);
  },
);

const SPOILED: [defect: string, spoil: Plant, says: RegExp][] = [
  ["an undocumented status", onError("not_found", ({ answer, text }) => made(answer, text, { status: 410 })), /410/],
  [
    "a 404 in place of a documented 403",
    onError("account_disabled", ({ answer, text }) => made(answer, text, { status: 404 })),
    /not go with 404|is not described/,
  ],
  [
    "a 500",
    onError("invalid_input", ({ answer }) => made(answer, '{"error":{"code":"server_error","message":"x"}}', { status: 500 })),
    /^500/m,
  ],
  [
    "a code of another status",
    onError("invalid_input", ({ answer, text }) => made(answer, text.replace("invalid_input", "invalid_request"))),
    /invalid_request/,
  ],
  [
    "an additional field",
    ({ answer, text }) =>
      isGeneration(text) ? made(answer, JSON.stringify({ ...jsonOf(text), account_id: "acc_1" })) : undefined,
    /additional properties/,
  ],
  [
    "a missing field",
    ({ answer, text }) => (isGeneration(text) ? made(answer, text.replace(/"attempts":\d+,/, "")) : undefined),
    /attempts/,
  ],
  [
    "a number as text",
    ({ answer, text }) =>
      isGeneration(text) ? made(answer, text.replace(/"quoted_usd":([\d.]+)/, '"quoted_usd":"$1"')) : undefined,
    /quoted_usd must be number/,
  ],
  ["a truncated body", ({ answer, text }) => (isGeneration(text) ? made(answer, text.slice(0, -5)) : undefined), /no JSON/],
  [
    "an HTML page in place of JSON",
    onError("not_found", ({ answer }) => made(answer, "<h1>Not Found</h1>", { headers: { "content-type": "text/html" } })),
    /text\/html/,
  ],
  ["an empty error", onError("invalid_request", ({ answer }) => made(answer, "")), /no JSON/],
  ["an empty message", onError("invalid_input", ({ answer, text }) => saying(answer, text, " ")), /says nothing/],
  [
    "a stack frame",
    onError("invalid_input", ({ answer, text }) => saying(answer, text, "x\n    at checkInput (input.js:1:2)")),
    /stack frame/,
  ],
  [
    "a file system path",
    onError("invalid_input", ({ answer, text }) => saying(answer, text, "ENOENT: /tmp/harness-1/genrouter.db")),
    /path of the machine/,
  ],
  [
    "a database error message",
    onError("insufficient_credits", ({ answer, text }) => saying(answer, text, "CHECK constraint failed: account")),
    /the database/,
  ],
  [
    "a prompt in a message",
    onError("invalid_input", ({ answer, text, body }) => saying(answer, text, `bad: ${body}`)),
    /a canary/,
  ],
  [
    "a credential in a header",
    ({ answer, text, request }) =>
      keyOf(request) && request.method !== "HEAD" ? made(answer, text, { headers: { "x-debug": keyOf(request) } }) : undefined,
    /x-debug/,
  ],
  [
    "a missing header",
    onError("not_found", ({ answer, text }) => made(answer, text, { headers: { "x-request-id": null } })),
    /lacks the header x-request-id/,
  ],
  [
    "a 429 without Retry-After",
    onError("invalid_input", ({ answer }) => made(answer, '{"error":{"code":"rate_limited","message":"x"}}', { status: 429 })),
    /lacks the header retry-after/,
  ],
  [
    "a rejection of an offered submission",
    ({ answer }) =>
      answer.status === 202
        ? made(answer, '{"error":{"code":"invalid_input","message":"no"}}', {
            status: 422,
            headers: { location: null, "retry-after": null },
          })
        : undefined,
    /what the model list offers|without a 202|first submission/,
  ],
  [
    "an acceptance of an invalid submission",
    onError("invalid_input", async ({ request }) => order(keyOf(request))),
    /had to be refused|made the holds|\b202\b/,
  ],
  [
    "a rejection that holds credits",
    onError("invalid_input", async ({ request, answer, text }) => {
      await order(keyOf(request));
      return made(answer, text);
    }),
    /without a 202/,
  ],
  [
    "a 202 that reports another reserve than was held",
    ({ answer, text }) =>
      answer.status === 202 ? made(answer, text.replace(/"reserved_usd":([\d.]+)/, '"reserved_usd":77')) : undefined,
    /reserved_usd 77|held/,
  ],
  [
    "a reported cost that differs from the charge",
    ({ answer, text }) => (isGeneration(text) ? made(answer, text.replace(/"cost_usd":[\d.]+/, '"cost_usd":0.01')) : undefined),
    /charged|cost/,
  ],
  [
    "a final status that changes",
    ({ answer, text }) =>
      text.includes('"succeeded"') && Math.random() < 0.5 ? made(answer, text.replace('"succeeded"', '"running"')) : undefined,
    /became|changed|still/,
  ],
];

test.each(casesOfShare("defects of a response", SPOILED, ([defect]) => defect))("finds %s", async (_defect, spoil, says) => {
  plant = spoil;
  expect(await found()).toMatch(says);
});

const TWISTED: [defect: string, turn: Twist, says: RegExp][] = [
  ["an ignored Idempotency-Key", (headers) => headers.delete("idempotency-key"), /the same key and request|with another request/],
  [
    "a generation that another account can read",
    (headers, { method, url }) => {
      if (method === "GET" && owners.has(url)) headers.set("authorization", owners.get(url) ?? "");
    },
    /a stranger received/,
  ],
];
/** The credential that submitted each generation. */
const owners = new Map<string, string>();

test.each(casesOfShare("defects of a request", TWISTED, ([defect]) => defect))("finds %s", async (_defect, turn, says) => {
  plant = ({ request, answer, text }) => {
    if (answer.status === 202) owners.set(`${new URL(request.url).origin}/v1/generations/${jsonOf(text).id}`, keyOf(request));
    return undefined;
  };
  twist = turn;
  expect(await found()).toMatch(says);
  twist = () => undefined;
});
