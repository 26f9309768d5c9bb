// Tests the simulator's submission, run and polling faults from the bytes that a client receives.
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { FaultName } from "../../src/simulator/faults.ts";
import { type Bed, type Body, call, type Ending, namesOf, openBed, raw } from "./fixture.ts";

const MODEL = "maker/video";
let bed: Bed;
beforeAll(async () => {
  bed = await openBed();
});
afterEach(() => bed.simulator.clearScript());
afterAll(() => bed.simulator.stop());

const PROVIDERS = ["fal", "replicate"] as const;
type Provider = (typeof PROVIDERS)[number];
const INPUT = { prompt: "p", image_url: "https://pictures.example/a.png", duration: 5 };

const script = (fault: FaultName, params: Body = {}) => {
  bed.simulator.script({ ...(params as Record<string, never>), fault });
};
/** Faults that a separate test below covers; the others are rows of the tables. */
const singles = new Set<FaultName>();
const faultTest = (fault: FaultName, promise: string, run: () => Promise<void>) => {
  singles.add(fault);
  test(`${fault} ${promise}`, run);
};
const pathOf = (provider: Provider) => (provider === "fal" ? `/fal/${MODEL}` : `/replicate/v1/models/${MODEL}/predictions`);
const bodyOf = (provider: Provider) => (provider === "fal" ? INPUT : { input: INPUT });
const submitRaw = (provider: Provider, waitMs?: number) => raw(bed.simulator, "POST", pathOf(provider), bodyOf(provider), waitMs);
const submit = async (provider: Provider) =>
  (await (provider === "fal" ? bed.fal(MODEL, INPUT) : bed.replicate(MODEL, INPUT))).body;
const statusUrl = (body: Body) => String(body.status_url ?? (body.urls as { get: string } | undefined)?.get);
const poll = (body: Body) => call(statusUrl(body));
const pollRaw = (body: Body) => raw(bed.simulator, "GET", new URL(statusUrl(body)).pathname);
const result = (body: Body) => call(String(body.response_url ?? statusUrl(body)));

const statusIs =
  (status: number) =>
  ({ how, text }: Ending) =>
    expect([how, text.slice(0, 12)]).toEqual(["answered", `HTTP/1.1 ${status}`]);

const SUBMIT: [FaultName, Body, accepted: boolean, (seen: Ending, provider: Provider) => void][] = [
  ["drop", {}, false, ({ how, text }) => expect([how, text]).toEqual(["reset", ""])],
  ["hang", {}, false, ({ how, text }) => expect([how, text]).toEqual(["silence", ""])],
  ["5xx", {}, false, statusIs(503)],
  ["5xx", { status: 500 }, false, statusIs(500)],
  [
    "429",
    { retry_after_s: 7 },
    false,
    (seen, provider) => {
      statusIs(429)(seen);
      expect(seen.text.toLowerCase()).toContain("retry-after: 7\r\n");
      if (provider === "replicate") expect(seen.text).toContain("Your rate limit resets in ~7s.");
    },
  ],
  ["401", {}, false, statusIs(401)],
  [
    "402",
    {},
    false,
    (seen, provider) => {
      statusIs(402)(seen);
      expect(seen.text).toContain(provider === "fal" ? "Exhausted balance" : "Insufficient credit");
    },
  ],
  ["403", {}, false, statusIs(403)],
  ["404", {}, false, statusIs(404)],
  ["invalid", {}, false, statusIs(422)],
  ["drop-after", {}, true, ({ how, text }) => expect([how, text]).toEqual(["reset", ""])],
  ["hang-after", {}, true, ({ how, text }) => expect([how, text]).toEqual(["silence", ""])],
  ["5xx-after", {}, true, statusIs(502)],
  ["5xx-after", { status: 504 }, true, statusIs(504)],
  [
    "rubbish",
    {},
    true,
    (seen) => {
      statusIs(200)(seen);
      expect(seen.text).toEndWith("<html><body>OK</body></html>");
    },
  ],
  [
    "no-id",
    {},
    true,
    (seen) => {
      expect(seen.how).toBe("answered");
      const body = JSON.parse(seen.text.slice(seen.text.indexOf("\r\n\r\n"))) as Body;
      expect([body.id, body.request_id, body.urls, body.status_url]).toEqual([undefined, undefined, undefined, undefined]);
    },
  ],
  [
    "cut",
    {},
    true,
    ({ how, text }) => expect([how, text.length - text.indexOf("\r\n\r\n") - 4, text.slice(9, 11)]).toEqual(["closed", 12, "20"]),
  ],
];

test.each(SUBMIT)("applies the submission fault %s %p", async (fault, params, accepted, check) => {
  for (const provider of PROVIDERS) {
    script(fault, { ...params, times: 1 });
    const before = bed.simulator.jobs().length;
    const seen = await submitRaw(provider);
    check(seen, provider);
    expect(bed.simulator.jobs()).toHaveLength(before + (accepted ? 1 : 0));
    const line = bed.simulator.submissions().at(-1);
    expect([line?.accepted, line?.job_id !== null, line?.faults.submit?.name]).toEqual([accepted, accepted, fault]);
    statusIs(provider === "fal" ? 200 : 201)(await submitRaw(provider));
  }
});

faultTest("slow-answer", "delays the response until its configured time has elapsed", async () => {
  for (const provider of PROVIDERS) {
    script("slow-answer", { ms: 120, times: 1 });
    const before = bed.clock.waiting();
    const seen = submitRaw(provider);
    while (bed.clock.waiting() === before) await new Promise(setImmediate);
    bed.clock.pass(119);
    expect(bed.clock.waiting()).toBe(before + 1);
    bed.clock.pass(1);
    statusIs(provider === "fal" ? 200 : 201)(await seen);
  }
});

test.each(["drop-after", "rubbish", "hang-after", "5xx-after"] as const)(
  "continues and lists a job whose response was lost to %s",
  async (fault) => {
    for (const provider of PROVIDERS) {
      script(fault, { times: 1 });
      await submitRaw(provider, 60);
      const id = bed.simulator.submissions().at(-1)?.job_id;
      bed.clock.pass(20_000);
      const list =
        provider === "fal"
          ? `${bed.simulator.falUrl}/v1/models/requests/by-endpoint?endpoint_id=${MODEL}`
          : `${bed.simulator.replicateUrl}/predictions`;
      const { body } = await call(list);
      const found = (body.items ?? body.results) as Body[];
      expect(found.map((item) => item.request_id ?? item.id)).toContain(id ?? "none");
    }
  },
);

/** Run faults: what fal's result and Replicate's prediction contain, and the longest time to the end, ms. */
const RUN: [FaultName, Body, fal: [number, string], replicate: [string, string], byMs: number][] = [
  ["refuse", {}, [422, "content_policy_violation"], ["failed", "flagged as sensitive"], 4000],
  ["refuse-output", {}, [422, "no_media_generated"], ["failed", "NSFW content detected"], 7000],
  ["fail", {}, [500, "internal_server_error"], ["failed", "unknown reason"], 0],
  ["fail-later", {}, [504, "generation_timeout"], ["failed", "unknown reason"], 7000],
  ["input-unreachable", {}, [422, "file_download_error"], ["failed", "Failed to download"], 4000],
  ["aborted", {}, [503, "runner_disconnected"], ["aborted", "null"], 4000],
];
test.each(RUN)("%s %p ends the job as documented", async (fault, params, [falStatus, falType], [status, error], byMs) => {
  script(fault, params);
  const [onFal, onReplicate] = [await submit("fal"), await submit("replicate")];
  if (byMs > 0) expect((await poll(onFal)).status).toBe(202);
  bed.clock.pass(byMs);
  expect((await poll(onFal)).body.status).toBe("COMPLETED");
  const left = await result(onFal);
  expect([left.status, JSON.stringify(left.body)]).toEqual([falStatus, expect.stringContaining(falType)]);
  const { body } = await poll(onReplicate);
  expect([body.status, String(body.error), body.output]).toEqual([status, expect.stringContaining(error), null]);
});

const TIMES = [
  ["stuck", {}, 86_400_000, false],
  ["slow", { factor: 4 }, 18_000, false],
  ["slow", { factor: 4 }, 28_000, true],
  ["late", {}, 100_000, false],
  ["late", {}, 140_000, true],
  ["late-ms", { ms: 2_500_000 }, 2_499_999, false],
  ["late-ms", { ms: 2_500_000 }, 2_500_000, true],
] as const;
test.each(TIMES)("run fault %s %p: the job is delivered after %d ms: %p", async (fault, params, ms, delivered) => {
  script(fault, params);
  const [onFal, onReplicate] = [await submit("fal"), await submit("replicate")];
  bed.clock.pass(ms);
  expect([(await result(onFal)).status === 200, (await poll(onReplicate)).body.status === "succeeded"]).toEqual([
    delivered,
    delivered,
  ]);
});

/** Poll faults: what successive polls of a finished job return, as status code or word. */
const POLL: [FaultName, Body, fal: unknown[], replicate: unknown[]][] = [
  ["forget", {}, [200, 404, 404], [200, 404, 404]],
  ["forget", { after_polls: 0 }, [404], [404]],
  ["unknown-status", { polls: 2 }, ["WARMING_UP", "WARMING_UP", "COMPLETED"], ["reviewing", "reviewing", "succeeded"]],
  ["poll-5xx", { polls: 2 }, [503, 503, 200], [503, 503, 200]],
  ["poll-429", { polls: 1 }, [429, 200], [429, 200]],
  ["poll-drop", { polls: 2 }, ["reset", "reset", 200], ["reset", "reset", 200]],
  ["poll-hang", {}, ["silence", 200], ["silence", 200]],
  ["poll-rubbish", { polls: 1 }, ["page", 200], ["page", 200]],
  [
    "out-of-order",
    { polls: 2 },
    ["COMPLETED", "IN_PROGRESS", "IN_PROGRESS", "COMPLETED"],
    ["succeeded", "processing", "processing", "succeeded"],
  ],
];
test.each(POLL)("poll fault %s %p changes successive polls in the documented order", async (fault, params, fal, replicate) => {
  script(fault, params);
  for (const provider of PROVIDERS) {
    const body = await submit(provider);
    bed.clock.pass(20_000);
    const seen: unknown[] = [];
    const wanted = provider === "fal" ? fal : replicate;
    for (const expected of wanted) {
      const { how, text } = await pollRaw(body);
      const word = /"status":"(\w+)"/.exec(text)?.[1];
      const code = Number(text.slice(9, 12));
      if (how !== "answered") seen.push(how);
      else seen.push(text.includes("<html>down") ? "page" : typeof expected === "number" ? code : word);
    }
    expect(seen).toEqual(wanted);
  }
});

test("omits a forgotten job from the list", async () => {
  script("forget", { after_polls: 0 });
  for (const provider of PROVIDERS) {
    const body = await submit(provider);
    bed.clock.pass(20_000);
    await poll(body);
    const list =
      provider === "fal"
        ? `${bed.simulator.falUrl}/v1/models/requests/by-endpoint?endpoint_id=${MODEL}&limit=100`
        : `${bed.simulator.replicateUrl}/predictions`;
    expect(JSON.stringify((await call(list)).body)).not.toContain(String(body.request_id ?? body.id));
  }
});

faultTest("poll-huge", "returns a body of the configured number of megabytes", async () => {
  script("poll-huge", { mb: 3 });
  const answer = await fetch(statusUrl(await submit("fal")), { headers: { authorization: "Key k" } });
  expect((await answer.bytes()).length).toBeGreaterThan(3_000_000);
});

faultTest("withheld", "flags the result beside a file at fal and fails the prediction at Replicate", async () => {
  script("withheld");
  const [onFal, onReplicate] = [await submit("fal"), await submit("replicate")];
  bed.clock.pass(20_000);
  const { status, body } = await result(onFal);
  expect([status, JSON.stringify(body)]).toEqual([200, expect.stringMatching(/"has_nsfw_concepts":\[true\]/)]);
  expect(JSON.stringify(body)).toMatch(/\/files\//);
  expect((await poll(onReplicate)).body).toMatchObject({ status: "failed", output: null });
});

faultTest("no-path", "accepts the submission, reports COMPLETED at once and returns 404 for the result at fal", async () => {
  script("no-path", { provider: "fal" });
  const submitted = await submit("fal");
  expect((await poll(submitted)).body.status).toBe("COMPLETED");
  const { status, body } = await result(submitted);
  expect([status, body.detail]).toEqual([404, expect.stringMatching(/^Path \/.* not found$/)]);
});

faultTest("early-done", "reports success before the result is available", async () => {
  script("early-done", { polls: 1 });
  const [onFal, onReplicate] = [await submit("fal"), await submit("replicate")];
  expect((await poll(onFal)).body.status).toBe("COMPLETED");
  expect((await result(onFal)).status).toBe(400);
  expect((await poll(onReplicate)).body).toMatchObject({ status: "succeeded", output: null });
  expect((await poll(onFal)).body.status).not.toBe("COMPLETED");
});

faultTest("result-5xx", "reports success and returns the result only at the third request", async () => {
  script("result-5xx");
  for (const provider of PROVIDERS) {
    const body = await submit(provider);
    bed.clock.pass(20_000);
    if (provider === "fal") expect((await poll(body)).body.status).toBe("COMPLETED");
    const codes: number[] = [];
    for (let n = 0; n < 3; n++) codes.push((await result(body)).status);
    expect(codes).toEqual([502, 502, 200]);
  }
});

test("covers every submit, run and poll fault with a row or a test", () => {
  const rows = [SUBMIT, RUN, TIMES, POLL].flatMap((table): FaultName[] => table.map(([fault]) => fault));
  const seen = new Set<FaultName>([...rows, ...singles]);
  expect([...seen].sort()).toEqual(namesOf("submit", "run", "poll"));
});
