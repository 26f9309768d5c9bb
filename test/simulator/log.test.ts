// Tests the simulator's log: each submission is on disk before its response, and jobs continue after a restart.

import { afterAll, afterEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { appendFileSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DIALECT_IDS } from "../../src/simulator/dialect-ids.ts";
import { openLog, type Submission } from "../../src/simulator/log.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { dropScratch } from "../scratch.ts";
import { call, movableClock } from "./fixture.ts";

const directory = mkdtempSync(join(tmpdir(), "simulator-"));
let files = 0;
/** Runs the command in a separate process, so that a test can kill it. */
const COMMAND_CODE = `import { runSimulator } from ${JSON.stringify(join(import.meta.dir, "../../src/simulator/command.ts"))};
process.exit(await runSimulator(process.argv.slice(1)));`;
const COMMAND = [process.execPath, "-e", COMMAND_CODE, "--"];
const freshPath = () => join(directory, `log-${++files}.ndjson`);
const linesOf = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Submission);

const children: { kill(signal: string): void }[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(() => dropScratch(directory));

/** Starts the command in a separate process and waits for its URL. */
const start = async (...flags: string[]) => {
  const child = Bun.spawn([...COMMAND, "--port", "0", ...flags], {
    stdout: "pipe",
    stderr: "pipe",
  });
  children.push({ kill: (signal) => child.kill(signal as NodeJS.Signals) });
  const reader = child.stdout.getReader();
  let said = "";
  while (!said.includes("MEDIA__ALLOW")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the simulator ended: ${await new Response(child.stderr).text()}`);
    said += new TextDecoder().decode(value);
  }
  return { child, said, url: /^simulator (\S+)/.exec(said)?.[1] ?? "" };
};

test("logs a submission with its input, outcome and key hash, without the credential itself", async () => {
  const path = freshPath();
  const clock = movableClock();
  const simulator = await createSimulator({ log: path, clock });
  const input = { prompt: "a fox", end_user_id: "g7-1" };
  const { body } = await call(`${simulator.falUrl}/maker/video/text`, "POST", input, "Key very-secret");
  expect(linesOf(path)).toEqual([
    {
      type: "submission",
      at: "2026-11-21T10:00:00.000Z",
      provider: "fal",
      endpoint: "maker/video/text",
      job_id: String(body.request_id),
      ref: "g7-1",
      body_sha256: createHash("sha256").update(JSON.stringify(input)).digest("hex"),
      accepted: true,
      key_hash: createHash("sha256").update("very-secret").digest("hex").slice(0, 16),
      input,
      faults: {},
      answer: 200,
      plan: { queued_ms: expect.any(Number), total_ms: expect.any(Number), seed: expect.any(Number) },
    },
  ]);
  expect(readFileSync(path, "utf8")).not.toContain("very-secret");
  expect(simulator.submissions()).toEqual(linesOf(path));
  expect(await (await fetch(`${simulator.url}/log`)).text()).toBe(readFileSync(path, "utf8"));
  await simulator.stop();
});

test("reads the reference from a header if the body has none", async () => {
  const simulator = await createSimulator();
  const headers = { authorization: "Bearer k", "x-request-id": "g8-2" };
  await fetch(`${simulator.replicateUrl}/models/a/b/predictions`, { method: "POST", headers, body: '{"input":{"prompt":"p"}}' });
  expect(simulator.submissions()[0]?.ref).toBe("g8-2");
  await simulator.stop();
});

test("logs rejected and unauthorized submissions as not accepted", async () => {
  const simulator = await createSimulator();
  await call(`${simulator.falUrl}/a/b`, "POST", { prompt: "[sim:429]" });
  await call(`${simulator.falUrl}/a/b`, "POST", { prompt: "p" }, "");
  await call(`${simulator.replicateUrl}/models/a/b/predictions`, "POST", {});
  expect(simulator.submissions().map(({ accepted, job_id, answer }) => [accepted, job_id, answer])).toEqual([
    [false, null, 429],
    [false, null, 401],
    [false, null, 422],
  ]);
  await simulator.stop();
});

test("logs one line for each delivery, download and cancel", async () => {
  const clock = movableClock();
  const path = freshPath();
  const simulator = await createSimulator({ log: path, clock });
  const submit = async () => (await call(`${simulator.falUrl}/maker/picture`, "POST", { prompt: "p" })).body;
  const [first, second] = [await submit(), await submit()];
  await call(String(second.cancel_url), "PUT");
  clock.pass(5000);
  for (let n = 0; n < 2; n++) {
    const { body } = await call(String(first.response_url));
    await (await fetch((body.images as { url: string }[])[0]?.url ?? "")).bytes();
  }
  expect(linesOf(path).slice(2)).toEqual([
    { type: "cancelled", at: "2026-11-21T10:00:00.000Z", provider: "fal", job_id: second.request_id },
    { type: "announced", at: "2026-11-21T10:00:05.000Z", provider: "fal", job_id: first.request_id },
    { type: "fetched", at: "2026-11-21T10:00:05.000Z", provider: "fal", job_id: first.request_id },
  ] as never);
  await simulator.stop();
});

test("append resolves after the line is in the file; concurrent lines stay whole and in order", async () => {
  const path = freshPath();
  const log = await openLog(path);
  const at = "2026-11-21T10:00:00.000Z";
  await Promise.all(
    Array.from({ length: 500 }, async (_, n) => {
      await log.append({ type: "fetched", at, provider: "fal", job_id: `j${n}` });
      expect(readFileSync(path, "utf8")).toContain(`"j${n}"`);
    }),
  );
  expect(linesOf(path).map(({ job_id }) => job_id)).toEqual(Array.from({ length: 500 }, (_, n) => `j${n}`));
  await log.close();
});

test("keeps every answered and every dropped submission over a SIGKILL, and continues the jobs after a restart", async () => {
  const path = freshPath();
  const first = await start("--log", path, "--speed", "20");
  const answered = await Promise.all(
    Array.from({ length: 24 }, (_, n) =>
      call(`${first.url}/fal/maker/picture`, "POST", { prompt: `p${n}`, end_user_id: `r${n}` }),
    ),
  );
  const dropped = await Promise.allSettled(
    Array.from({ length: 8 }, (_, n) =>
      call(`${first.url}/fal/maker/picture`, "POST", { prompt: "[sim:drop-after]", end_user_id: `d${n}` }),
    ),
  );
  first.child.kill("SIGKILL");
  await first.child.exited;
  expect(dropped.map(({ status }) => status)).toEqual(dropped.map(() => "rejected"));
  const lines = linesOf(path).filter(({ type }) => type === "submission");
  const ids = answered.map(({ body }) => String(body.request_id));
  expect(lines.map(({ job_id }) => job_id)).toEqual(expect.arrayContaining(ids));
  expect(lines.filter(({ ref, accepted }) => ref?.startsWith("d") && accepted)).toHaveLength(8);

  // A power cut may leave a line that cannot be read and a truncated line.
  appendFileSync(path, '\0\0\0\n{"type":"submission","at":"2026-');
  const second = await start("--log", path, "--speed", "20");
  const known = ((await call(`${second.url}/jobs`)).body.jobs as { id: string; ref: string }[]).map(({ id }) => id);
  expect(known.sort()).toEqual(lines.map(({ job_id }) => String(job_id)).sort());
  const statusPath = new URL(String(answered[0]?.body.status_url)).pathname;
  let status: unknown;
  const giveUpMs = performance.now() + 4000;
  while (status !== "COMPLETED" && performance.now() < giveUpMs) status = (await call(`${second.url}${statusPath}`)).body.status;
  expect(status).toBe("COMPLETED");
  const { body } = await call(`${second.url}${statusPath.replace("/status", "")}`);
  expect((await fetch((body.images as { url: string }[])[0]?.url ?? "")).status).toBe(200);
  await call(`${second.url}/fal/maker/picture`, "POST", { prompt: "after" });
  const all = (await (await fetch(`${second.url}/log`)).text()).trim().split("\n");
  expect(all.filter((line) => line.includes('"type":"submission"'))).toHaveLength(33);
});

test("keeps cancelled jobs cancelled and continues job times across a restart", async () => {
  const path = freshPath();
  const clock = movableClock();
  const before = await createSimulator({ log: path, clock });
  const submit = async () => (await call(`${before.falUrl}/maker/video`, "POST", { prompt: "p", duration: 5 })).body;
  const [first, second] = [await submit(), await submit()];
  await call(String(second.cancel_url), "PUT");
  await before.stop();
  clock.pass(3000);
  const after = await createSimulator({ log: path, clock });
  const status = async ({ request_id }: Record<string, unknown>) =>
    (await call(`${after.falUrl}/maker/video/requests/${request_id}/status`)).body;
  expect((await status(first)).status).toBe("IN_PROGRESS");
  expect(await status(second)).toMatchObject({ status: "COMPLETED", error_type: "client_cancelled" });
  clock.pass(4000);
  expect((await status(first)).status).toBe("COMPLETED");
  await after.stop();
});

test("the command prints the settings that point a service at it, and exits with 0 on SIGTERM", async () => {
  const { child, said, url } = await start();
  expect(said).toContain(`GENROUTER_PROVIDERS__FAL__BASE_URL=${url}/fal\n`);
  expect(said).toContain(`GENROUTER_PROVIDERS__REPLICATE__BASE_URL=${url}/replicate/v1\n`);
  for (const id of DIALECT_IDS) expect(said).toContain(`__${id.toUpperCase().replaceAll("-", "_")}__KEY=simulated\n`);
  const hanging = call(`${url}/fal/a/b`, "POST", { prompt: "[sim:hang]" }).catch(() => "broken");
  expect((await call(`${url}/fal/a/b`, "POST", { prompt: "p" })).status).toBe(200);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  expect(await hanging).toBe("broken");
});

test.each([
  ["--port", "70000"],
  ["--speed", "0"],
  ["--speed", "fast"],
  ["--colour", "red"],
  ["--seed", "-1"],
])("the command rejects %s %s with exit code 2", async (flag, value) => {
  const child = Bun.spawn([...COMMAND, `${flag}=${value}`], {
    stdout: "pipe",
    stderr: "pipe",
  });
  expect(await child.exited).toBe(2);
  expect(await new Response(child.stderr).text()).toContain(flag);
});
