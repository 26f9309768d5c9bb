// Bulkheads between providers: a hanging provider does not delay calls to others, within the runtime's request limit.
import { expect, test } from "bun:test";
import { createProviders, slotsWithin } from "../../src/providers/providers.ts";
import { taskFor } from "./task.ts";
import { answerOf, openWire } from "./wire.ts";

const KEY = "s3cr3t-0123456789";
const isOwned = () => Promise.resolve(false);

/** A hanging fal beside a healthy Replicate. */
const openBoth = (fal: string, replicate: string) =>
  createProviders({
    settings: { fal: { base_url: fal, key: KEY }, replicate: { base_url: replicate, key: KEY } },
    isOwned,
    timeouts: { submitMs: 60_000, pollMs: 60_000, findMs: 60_000, cancelMs: 60_000 },
    // The test runner allows 256 concurrent requests, whatever the environment says.
    slots: slotsWithin(256),
  });
const openHealthyWire = () =>
  openWire({
    asked: (s, request) => void s.write(answerOf(request.startsWith("POST") ? 201 : 200, { id: "job-1", status: "processing" })),
  });

test("400 hung submissions and 400 hung polls of one provider block no call to another and use only their slots", async () => {
  using hanging = openWire({});
  using healthy = openHealthyWire();
  const providers = openBoth(hanging.url, healthy.url);
  const stop = new AbortController();
  const request = providers.compose(taskFor());
  const hung = Array.from({ length: 400 }, async () => {
    const release = await providers.slot("fal", stop.signal);
    await providers.submit(taskFor({ request }), stop.signal);
    release();
  });
  const polls = Array.from({ length: 400 }, () => providers.poll(taskFor({ job: { jobId: "job-1" } }), stop.signal));
  // 64 submissions and 32 polls: the maximum in flight with one provider.
  await hanging.arrived(96);

  const task = taskFor({ provider: "replicate" });
  task.attempt.request = providers.compose(task);
  const release = await providers.slot("replicate", AbortSignal.timeout(10_000));
  expect((await providers.submit(task, AbortSignal.timeout(10_000))).kind).toBe("accepted");
  release();
  const job = taskFor({ provider: "replicate", job: { jobId: "job-1" } });
  expect((await providers.poll(job, AbortSignal.timeout(10_000))).kind).toBe("pending");
  expect(hanging.requests.length).toBe(96);

  stop.abort();
  await Promise.allSettled([...hung, ...polls]);
  // All slots were released.
  const releases = await Promise.all(Array.from({ length: 64 }, () => providers.slot("fal", AbortSignal.timeout(10_000))));
  expect(releases.length).toBe(64);
});

test("hung submissions do not block the polls of the same provider", async () => {
  using wire = openWire({
    asked: (s, request) => void (request.startsWith("GET") && s.write(answerOf(202, { status: "IN_QUEUE" }))),
  });
  const providers = openBoth(wire.url, wire.url);
  const stop = new AbortController();
  const request = providers.compose(taskFor());
  const hung = Array.from({ length: 100 }, async () => {
    await providers.slot("fal", stop.signal);
    await providers.submit(taskFor({ request }), stop.signal);
  });
  await wire.arrived(64);
  expect((await providers.poll(taskFor({ job: { jobId: "job-1" } }), AbortSignal.timeout(10_000))).kind).toBe("pending");
  stop.abort();
  await Promise.allSettled(hung);
});

test("a lookup or cancellation that gets no connection in time concludes nothing about the job", async () => {
  using hanging = openWire({});
  const providers = createProviders({
    settings: { fal: { base_url: hanging.url, key: KEY } },
    isOwned,
    slots: { questions: 1, finds: 1 },
    timeouts: { pollMs: 5_000, findMs: 300, cancelMs: 50 },
  });
  const stop = new AbortController();
  const task = taskFor({ job: { jobId: "job-1" } });
  const first = providers.poll(task, stop.signal);
  await hanging.arrived(1);
  expect(await providers.cancel(task, stop.signal)).toBe(false);
  // Lookups have their own slots: the hanging poll does not block the first lookup, but the first blocks the second.
  const finding = providers.find(task, stop.signal);
  await hanging.arrived(2);
  expect(await providers.find(task, AbortSignal.timeout(100))).toEqual({ kind: "unclear", detail: "no free connection" });
  await finding;
  stop.abort();
  expect((await first).kind).toBe("unclear");
  expect(hanging.requests.length).toBe(2);
});

/** Starts the process, waits until `expected` requests have arrived, and returns what it prints then. */
const runChild = async (mode: string, expected: number, env: Record<string, string> = {}) => {
  using hanging = openWire({});
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/request-limit.ts`, mode, hanging.url], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
    env: { PATH: process.env.PATH ?? "", ...env },
  });
  await hanging.arrived(expected);
  await child.stdin.write("go\n");
  await child.stdin.end();
  const said: unknown = JSON.parse(await new Response(child.stdout).text());
  return { said, pid: child.pid, arrived: hanging.requests.length };
};

test("by default the runtime allows 256 requests, so 300 hung requests to one host block another host", async () => {
  const { said, arrived } = await runChild("plain", 256);
  expect(said).toMatchObject({ raised: false, answered: false });
  expect(arrived).toBe(256);
});

test("raiseRequestLimit raises the limit within the same process, so 300 hung requests do not block another host", async () => {
  const { said, pid, arrived } = await runChild("raise", 300);
  expect(said).toMatchObject({ raised: true, answered: true, pid, verbose: null });
  expect(said).toHaveProperty("args.0", "raise");
  expect(arrived).toBe(300);
});

test("keeps a request limit from the environment and removes BUN_CONFIG_VERBOSE_FETCH, which prints credentials", async () => {
  const env = { BUN_CONFIG_MAX_HTTP_REQUESTS: "256", BUN_CONFIG_VERBOSE_FETCH: "curl" };
  const { said, arrived } = await runChild("raise", 256, env);
  expect(said).toMatchObject({ raised: true, answered: false, verbose: null });
  expect(arrived).toBe(256);
});
