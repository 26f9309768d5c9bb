// The walkthrough for a custom provider: the files of the page, used by a service against a server that implements the provider.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readDialects } from "../../src/providers/dialect/load.ts";
import type { Work } from "../../src/providers/port.ts";
import { createProviders } from "../../src/providers/providers.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { runHere } from "../cli/captured.ts";
import type { GenerationResource } from "../harness.ts";
import { taskFor } from "../providers/task.ts";
import { dropScratch, makeScratch } from "../scratch.ts";
import { type Kite, openKite } from "./kite.ts";

const PAGE = readFileSync(join(import.meta.dir, "../../catalogue/ADD-A-PROVIDER.md"), "utf8");
const KEY = "kite-key-0123456789";
const never = new AbortController().signal;

const scratch = makeScratch("walkthrough-");
const catalogue = join(scratch, "mine");
let kite: Kite;

beforeAll(async () => {
  for (const [, path = "", content = ""] of PAGE.matchAll(/^```json file=(\S+)\n([\s\S]*?)^```$/gm)) {
    mkdirSync(dirname(join(catalogue, path)), { recursive: true });
    writeFileSync(join(catalogue, path), content);
  }
  const simulator = await createSimulator({ speed: 1_000, seed: 7 });
  const clip = await (await fetch(`${simulator.url}/samples/clip.mp4?seconds=5&width=320&height=180`)).bytes();
  await simulator.stop();
  kite = await openKite(KEY, clip);
});
afterAll(() => {
  kite.stop();
  dropScratch(scratch);
});

describe("the dialect of the walkthrough", () => {
  const opened = () =>
    createProviders({
      settings: { kite: { base_url: kite.url, key: KEY } },
      dialects: readDialects(catalogue),
      isOwned: () => Promise.resolve(false),
      timeouts: { submitMs: 2_000, pollMs: 2_000, findMs: 2_000, cancelMs: 2_000 },
    });
  let attempts = 0;
  const begin = (prompt: string): Work => {
    attempts += 1;
    const request = {
      ...{ provider: "kite", endpoint: "kite-1", options: {}, ref: `walk${attempts}-1`, sentAtMs: Date.now() },
      input: { prompt, duration: 5, aspect_ratio: "9:16" },
    };
    return taskFor({ ...request, request: opened().compose(taskFor(request)) });
  };

  test("omits fields without a value, and sends the attempt's reference as the tag", async () => {
    await opened().submit(begin("a kite"), never);
    expect(kite.clips[0]?.asked).toEqual({
      ...{ engine: "kite-1", text: "a kite", seconds: 5, size: "720x1280", tag: `walk${attempts}-1` },
    });
  });
  test("finds the clip of a lost submission, and confirms that an unsent submission has no clip", async () => {
    const lost = begin("lost in the wind");
    expect((await opened().submit(lost, never)).kind).toBe("ambiguous");
    expect(await opened().find(lost, never)).toMatchObject({ kind: "found", job: { jobId: kite.clips[0]?.id } });
    expect((await opened().find(begin("never sent"), never)).kind).toBe("absent");
  });
  test("distinguishes a rejected input from a rejected output", async () => {
    const refused = await opened().submit(begin("unsafe"), never);
    expect(refused).toMatchObject({ kind: "rejected", failure: { class: "refused_input" } });
    const blocked = begin("blocked in the end");
    const accepted = await opened().submit(blocked, never);
    if (accepted.kind !== "accepted") throw new Error(accepted.kind);
    const asked = { ...blocked, attempt: { ...blocked.attempt, job: accepted.job } };
    expect((await opened().poll(asked, never)).kind).toBe("pending");
    expect(await opened().poll(asked, never)).toMatchObject({ kind: "failed", failure: { class: "refused_output" } });
  });
});

test("a service with the walkthrough's files lists the model, delivers a clip and charges for it", async () => {
  const data = join(scratch, "data");
  const json = async (...words: string[]) => {
    const { exit, out, err } = await runHere([...words, "--data", data, "--json"], { GENROUTER_CATALOGUE__DIR: catalogue });
    if (exit !== 0) throw new Error(err);
    return JSON.parse(out);
  };
  const { id } = await json("accounts", "create", "--name", "walker", "--credit-usd", "1");
  const { key } = await json("keys", "create", "--account", id);
  const words = ["serve", "--port", "0", "--data", data, "--catalogue", catalogue];
  const service = start([...PROGRAM, ...words], {
    GENROUTER_PROVIDERS__KITE__KEY: KEY,
    GENROUTER_PROVIDERS__KITE__BASE_URL: kite.url,
  });
  const [, url = ""] = await service.hears(/^url (\S+)$/m);
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const ask = async <T>(path: string, body?: object): Promise<T> => {
    const answer = await fetch(url + path, { headers, ...(body ? { method: "POST", body: JSON.stringify(body) } : {}) });
    return (await answer.json()) as T;
  };
  const models = await ask<{ data: { id: string }[] }>("/v1/models");
  expect(models.data.map(({ id }) => id)).toEqual(["kite-1"]);
  const made = await ask<GenerationResource>("/v1/generations", { model: "kite-1", input: { prompt: "a kite over dunes" } });
  let shown = made;
  while (shown.status === "queued" || shown.status === "running") {
    await Bun.sleep(100);
    shown = await ask<GenerationResource>(`/v1/generations/${made.id}`);
  }
  expect(shown).toMatchObject({ status: "succeeded", cost_usd: 0.25, error: null });
  expect((await fetch(shown.output?.urls[0] ?? "")).headers.get("content-type")).toBe("video/mp4");
  expect(kite.clips[0]?.asked).toMatchObject({ text: "a kite over dunes", seconds: 5, size: "1280x720" });
  service.kill("SIGTERM");
  expect(await service.ended).toMatchObject({ code: 0 });
}, 60_000);
