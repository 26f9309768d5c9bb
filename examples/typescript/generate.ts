// Submits a generation, waits for it and downloads its files. Needs Bun, or Node 22.18 or newer; no packages.
//
//   export GENROUTER_URL=http://127.0.0.1:8080 GENROUTER_API_KEY=gr_test_...
//   node generate.ts sim-image-1 '{"prompt": "a tin robot"}' robot.png
//
// The second file of a result is saved as robot-2.png, and so on. A repeated call with the same IDEMPOTENCY_KEY in the environment returns
// the first generation and is charged once. Exit codes: 0 files saved, 1 generation failed, 2 any other error.
//
// For an application, use the package in client/: it also resumes downloads and reports progress.
import { randomUUID } from "node:crypto";
import { createWriteStream, readFileSync, renameSync } from "node:fs";
import { parse } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

type Generation = {
  id: string;
  status: "queued" | "running" | "succeeded" | "failed";
  output: { urls: string[] } | null;
  cost_usd: number | null;
  error: { code: string; message: string } | null;
};

const TRIES = 10;
const POLL_MS = 1000;
const TIMEOUT_MS = 60_000;
const url = (process.env.GENROUTER_URL ?? "http://127.0.0.1:8080").replace(/\/$/, "");
const key = process.env.GENROUTER_API_KEY ?? "";

/** An answer of the service that no repetition changes. */
class ServiceError extends Error {}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
/** Says why a request is repeated, and waits. */
const pause = (why: string, tries: number, ms: number) => {
  console.error(`${why}; try ${tries + 1} of ${TRIES} in ${ms / 1000} s`);
  return sleep(ms);
};

/** Sends one request, and repeats it after 429, 5xx and lost connections. @throws ServiceError with the JSON of the error */
const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
  for (let tries = 1; ; tries += 1) {
    const isLast = tries === TRIES;
    const backoffMs = Math.min(10_000, 500 * 2 ** (tries - 1));
    try {
      const headers = { ...init.headers, authorization: `Bearer ${key}` };
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(`${url}${path}`, { ...init, headers, signal, redirect: "manual" });
      // A redirect leads to a signed link of the object storage, which must not receive the key.
      const location = response.headers.get("location");
      if (response.status === 302 && location !== null) return await fetch(new URL(location, url), { signal });
      if (response.ok) return response;
      if (isLast || (response.status !== 429 && response.status < 500)) throw new ServiceError(await response.text());
      await pause(`status ${response.status}`, tries, Number(response.headers.get("retry-after")) * 1000 || backoffMs);
    } catch (error) {
      if (isLast || error instanceof ServiceError) throw error;
      await pause(`no answer from ${url}: ${(error as Error).message}`, tries, backoffMs);
    }
  }
};
const requestGeneration = async (path: string, init?: RequestInit) => (await (await request(path, init)).json()) as Generation;

/** `robot.png` for the first file, `robot-2.png` for the second. */
const fileName = (file: string, n: number): string => {
  const { ext } = parse(file);
  return n === 1 ? file : `${file.slice(0, file.length - ext.length)}-${n}${ext}`;
};

const generate = async (model: string, input: unknown, file: string): Promise<number> => {
  let generation = await requestGeneration("/v1/generations", {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": process.env.IDEMPOTENCY_KEY ?? randomUUID() },
    body: JSON.stringify({ model, input }),
  });
  const { id } = generation;
  while (generation.status === "queued" || generation.status === "running") {
    await sleep(POLL_MS);
    generation = await requestGeneration(`/v1/generations/${id}`);
  }
  if (generation.status === "failed") {
    console.error(`${id} failed: ${generation.error?.code}: ${generation.error?.message}`);
    return 1;
  }
  for (let n = 1; n <= (generation.output?.urls.length ?? 0); n += 1) {
    const name = fileName(file, n);
    const { body } = await request(`/v1/generations/${id}/content${n === 1 ? "" : `/${n}`}`);
    if (body === null) throw new Error(`${id}: file ${n} has no content`);
    await pipeline(Readable.fromWeb(body as import("node:stream/web").ReadableStream), createWriteStream(`${name}.part`));
    renameSync(`${name}.part`, name);
    console.log(name);
  }
  return 0;
};

const [model, input, file] = process.argv.slice(2);
try {
  if (model === "-h" || model === "--help") {
    console.log(
      readFileSync(import.meta.filename, "utf8")
        .split("\nimport ")[0]
        ?.replace(/^\/\/ ?/gm, ""),
    );
  } else if (model === undefined || input === undefined || file === undefined || process.argv.length > 5) {
    throw new Error('usage: generate.ts MODEL INPUT FILE, as in generate.ts sim-image-1 \'{"prompt": "a tin robot"}\' robot.png');
  } else if (!/^\w+$/.test(key)) {
    throw new Error("GENROUTER_API_KEY: must be set to an API key, gr_live_... or gr_test_...");
  } else if (!URL.canParse(url)) {
    throw new Error(`GENROUTER_URL: ${url} is not a URL, such as http://127.0.0.1:8080`);
  } else {
    process.exitCode = await generate(model, JSON.parse(input), file);
  }
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 2;
}
