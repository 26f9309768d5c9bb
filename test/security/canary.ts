// Sends secrets through every endpoint, error and provider fault of a service process and records its output.
import { expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../../src/domain/types.ts";
import { settingsLeadingTo } from "../../src/simulator/dialect-registry.ts";
import { FAULTS, type FaultName } from "../../src/simulator/faults.ts";
import { PROGRAM } from "../built.ts";
import { runHere } from "../cli/captured.ts";
import { type Echo, openEcho, signed } from "./echo.ts";

const SPEED = 100;
/** Secrets that are sent to the service and searched for in all its output. */
export const SECRETS = {
  fal: "provider-canary-fal-4c11",
  replicate: "provider-canary-replicate-4c11",
  prompt: "prompt-canary-8d02 a hill in the rain",
  negative: "negative-canary-8d02",
  media: "media-canary-3e77",
  result: "result-canary-3e77",
  webhook: "webhook-canary-61aa",
  guess: "guess-canary-61aa",
};
/** Faults that only delay a response and have no text of their own. */
const SILENT: readonly FaultName[] = [
  "hang",
  "hang-after",
  "poll-hang",
  "list-hang",
  "stuck",
  "late",
  "late-ms",
  "slow",
  "slow-answer",
  "poll-huge",
];
/** Each of these closes a route, or all routes of its provider account, at once. The routes are reopened before the next. */
const FAULTY: readonly FaultName[] = ["401", "402", "403", "404"];
/** After these faults a route is not used for a while, so they come last. */
const CLOSING: readonly FaultName[] = [...FAULTY, "5xx", "drop"];
const LOUD = [
  ...(Object.keys(FAULTS) as FaultName[]).filter((name) => !SILENT.includes(name) && !CLOSING.includes(name)),
  ...CLOSING,
];
/** Models with routes on both providers. If a circuit breaker opens a route, another model is used. */
const MODELS = ["sim-image-1", "sim-edit-1", "sim-speech-1", "vidmodel-2.0-mini", "vidmodel-2.0-fast", "vidmodel-2.0"];
/** The recorded output and the created objects. */
export const scene = {
  dir: mkdtempSync(join(tmpdir(), "canary-")),
  url: "",
  key: "",
  otherKey: "",
  account: "",
  ids: [] as string[],
  out: "",
  err: "",
  /** Every response of the service: method, status, headers and, if it is JSON, the body. */
  answers: [] as string[],
  /** File links, which are secrets too. */
  links: [] as string[],
  /** Credentials that the providers received. */
  credentials: new Set<string>() as ReadonlySet<string>,
};
let echo: Echo;
let child: Bun.Subprocess<"ignore", "pipe", "pipe">;

const hear = async (stream: ReadableStream<Uint8Array>, take: (text: string) => void) => {
  const decoder = new TextDecoder();
  for await (const chunk of stream) take(decoder.decode(chunk, { stream: true }));
};
const eventually = async <T>(look: () => Promise<T | false | undefined> | T | false | undefined): Promise<T> => {
  for (const endMono = performance.now() + 60_000; performance.now() < endMono; ) {
    const seen = await look();
    if (seen) return seen;
    await new Promise((wake) => setTimeout(wake, 100));
  }
  throw new Error(`timed out; the output of the process ends with ${(scene.out + scene.err).slice(-1000)}`);
};

const ask = async (
  method: string,
  path: string,
  more: { body?: unknown; headers?: Record<string, string>; as?: string | null } = {},
) => {
  const { body, headers = {}, as = scene.key } = more;
  const answer = await fetch(scene.url + path, {
    method,
    redirect: "manual",
    headers: { ...(as === null ? {} : { authorization: `Bearer ${as}` }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  const headed = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  // The contents of files are not searched; everything else is.
  if (/json/.test(answer.headers.get("content-type") ?? "")) scene.answers.push(`${method} ${answer.status}\n${headed}\n${text}`);
  else scene.answers.push(`${method} ${answer.status}\n${headed}`);
  return { status: answer.status, text };
};
const submit = async (model: string, input: JsonObject, more: JsonObject = {}) => {
  const { status, text } = await ask("POST", "/v1/generations", { body: { model, input, ...more } });
  if (status === 202) scene.ids.push((JSON.parse(text) as { id: string }).id);
  return status;
};
const admin = async (...words: string[]): Promise<JsonObject> =>
  JSON.parse((await runHere([...words, "--json", "--data", scene.dir])).out) as JsonObject;

const media = (path: string) => signed(`${echo.url}/samples/${path}`, SECRETS.media);

type RouteJson = { id: string; provider: string; state: string };
/** A successful check of a route reopens all routes that were down for the same provider account. */
const reopen = async (): Promise<void> => {
  const rows = (await admin("routes", "list")) as unknown as RouteJson[];
  const down = rows.filter(({ state }) => state === "down");
  for (const provider of ["fal", "replicate"]) {
    const route = down.find((row) => row.provider === provider);
    if (route) await admin("routes", "test", route.id);
  }
};

/** Runs every provider fault with a text on both dialects, with a secret prompt and a signed link. */
const generateThroughFaults = async () => {
  for (const fault of LOUD)
    for (const provider of ["fal", "replicate"]) {
      const accepted: number[] = [];
      if (FAULTY.includes(fault)) await reopen();
      // Starts with another model each time, so that the failures do not open all routes of one model.
      const first = scene.ids.length % MODELS.length;
      for (const model of [...MODELS.slice(first), ...MODELS.slice(0, first)]) {
        const prompt = `${SECRETS.prompt} [sim:${provider}:${fault}]`;
        const more: JsonObject =
          model === "sim-edit-1"
            ? { image_url: media("picture.png?width=8&height=8") }
            : model === "sim-image-1"
              ? { negative_prompt: SECRETS.negative }
              : {};
        const quick: JsonObject = model.startsWith("vidmodel") ? { duration: 4, resolution: "480p" } : {};
        const status = await submit(model, { prompt, ...more, ...quick });
        if (status === 202) accepted.push(status);
        if (accepted.length === 1) break;
      }
      expect([fault, provider, accepted.length > 0]).toEqual([fault, provider, true]);
    }
  // A content refusal: every provider rejects the prompt and repeats it.
  await eventually(async () => {
    await reopen();
    return (await submit("sim-image-1", { prompt: `${SECRETS.prompt} [sim:refuse]` })) === 202;
  });
  const refused = scene.ids.at(-1) ?? "";
  // Confirmation with a provider can take minutes, so a quarter of the generations may stay open.
  const open = new Set(scene.ids);
  await eventually(async () => {
    for (const id of open) {
      const { text } = await ask("GET", `/v1/generations/${id}`);
      const { status, output } = JSON.parse(text) as { status: string; output: { urls: string[] } | null };
      scene.links.push(...(output?.urls ?? []));
      if (status === "succeeded" || status === "failed") open.delete(id);
    }
    return open.size < scene.ids.length / 4 && !open.has(refused);
  });
};

/** Requests every error response, with secrets in every place where a client can put one. */
const askForEveryNo = async () => {
  const { prompt, guess, webhook } = SECRETS;
  const bodies: unknown[] = [
    { model: "sim-image-1", input: { prompt }, webhook: `https://hooks.example/${webhook}` },
    { model: "sim-image-1", input: { prompt, webhook_url: `https://hooks.example/${webhook}` } },
    { model: guess, input: { prompt } },
    { model: "sim-image-1", input: { prompt: { text: prompt } } },
    { model: "sim-image-1", input: { prompt: prompt.padEnd(30_001, "x") } },
    { model: "sim-image-1", input: { prompt, resolution: 5 } },
    { model: "sim-image-1", input: { prompt }, max_cost_usd: 0.001 },
    { model: "sim-image-1", input: { prompt }, max_wait_s: prompt },
    { model: "sim-image-1", input: prompt },
    `{"model":"sim-image-1","input":{"prompt":"${prompt}"`,
    JSON.stringify({ model: "sim-image-1", input: { prompt } }).padEnd(1_048_577),
    ...["picture.html", "clip.mp4?seconds=1", "nothing"].map((path) => ({
      model: "sim-edit-1",
      input: { prompt, image_url: media(path) },
    })),
    ...["http://127.0.0.1:1/a", "https://127.0.0.1/a", "https://no.such.host.invalid/a", "https://[::1]/a"].map((link) => ({
      model: "sim-edit-1",
      input: { prompt, image_url: signed(link, SECRETS.media) },
    })),
  ];
  for (const body of bodies) {
    expect((await ask("POST", "/v1/generations", { body })).status).toBeGreaterThanOrEqual(400);
    await ask("POST", "/v1/generations", { body, as: scene.otherKey });
    await ask("POST", "/v1/generations", { body, as: `gr_test_${guess}` });
  }
  await ask("POST", "/v1/generations", { body: { model: "sim-image-1", input: { prompt } }, as: scene.otherKey });
  const link = scene.links.at(-1)?.slice(scene.url.length) ?? "";
  for (const as of [scene.key, scene.otherKey, guess, null])
    for (const path of ["", "/content", "/content/2", "/content/99"])
      for (const id of [scene.ids[0], scene.ids.at(-1), guess, `%00${guess}`])
        await ask("GET", `/v1/generations/${id}${path}`, { as });
  for (const path of [
    link,
    `${link}x`,
    `/files/${guess}/1?sig=${guess}`,
    `/v1/models?key=${scene.key}`,
    `/v1/generations/x?key=${scene.key}`,
    `/${guess}`,
    `/admin/${scene.key}`,
  ])
    for (const method of ["GET", "POST", "DELETE"]) await ask(method, path, { as: null });
  await ask("GET", "/readyz", { as: null, headers: { "x-request-id": `${guess} ${scene.key}` } });
};

/** Starts the service and sends all requests. */
export const openScene = async (): Promise<void> => {
  echo = await openEcho(SECRETS.result, SPEED);
  child = Bun.spawn([...PROGRAM, "serve", "--simulate", "--port", "0", "--data", scene.dir], {
    env: {
      PATH: process.env.PATH ?? "",
      GENROUTER_LOG__LEVEL: "debug",
      GENROUTER_SIMULATOR__SPEED: String(SPEED),
      GENROUTER_LIMITS__BURST_PER_S: "100000",
      GENROUTER_LIMITS__IN_PROGRESS: "1000",
      ...settingsLeadingTo(echo.url),
      GENROUTER_PROVIDERS__FAL__KEY: SECRETS.fal,
      GENROUTER_PROVIDERS__REPLICATE__KEY: SECRETS.replicate,
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  void hear(child.stdout, (text) => {
    scene.out += text;
  });
  void hear(child.stderr, (text) => {
    scene.err += text;
  });
  scene.url = await eventually(() => scene.out.includes("curl ") && /^url (\S+)$/m.exec(scene.out)?.[1]);
  scene.account = String((await admin("accounts", "create", "--name", "canary", "--credit-usd", "1000")).id);
  scene.key = String((await admin("keys", "create", "--account", scene.account)).key);
  const other = String((await admin("accounts", "create", "--name", "other")).id);
  scene.otherKey = String((await admin("keys", "create", "--account", other)).key);
  await generateThroughFaults();
  await askForEveryNo();
  scene.credentials = echo.credentials;
};

export const closeScene = async (): Promise<void> => {
  child.kill("SIGKILL");
  await child.exited;
  await echo.stop();
  rmSync(scene.dir, { recursive: true, force: true });
};
