// The command-line client against responses that a healthy service rarely gives.
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

const ID = "gen_0123456789abcdefghijk";
const generation = (status: string, files = 1) => ({
  id: ID,
  object: "generation",
  model: "m",
  status,
  output: status === "succeeded" ? { urls: Array.from({ length: files }, (_, n) => `http://unused/${n}`) } : null,
  quoted_usd: 0.2,
  reserved_usd: status === "succeeded" ? null : 0.28,
  cost_usd: status === "succeeded" ? 0.2 : null,
  attempts: 1,
  error: null,
  created_at: "2026-11-21T12:00:00.000Z",
  completed_at: status === "succeeded" ? "2026-11-21T12:00:09.000Z" : null,
});
const no = (status: number, code: string, headers = {}) =>
  Response.json({ error: { code, message: "later" } }, { status, headers: { "x-request-id": "req_1", ...headers } });

type Seen = { path: string; key: string | null; idempotencyKey: string | null };

/** Starts a server that gives the responses in turn, repeats the last one, and records the requests. */
const serve = (answers: Record<string, (() => Response)[]>) => {
  const seen: Seen[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const path = `${request.method} ${new URL(request.url).pathname}`;
      seen.push({ path, key: request.headers.get("authorization"), idempotencyKey: request.headers.get("idempotency-key") });
      const left = answers[path] ?? [() => no(404, "not_found")];
      return (left.length > 1 ? left.shift() : left[0])?.() ?? no(500, "server_error");
    },
  });
  return { seen, url: server.url.href, stop: () => server.stop(true) };
};
const SUBMIT = "POST /v1/generations";
const POLL = `GET /v1/generations/${ID}`;
const FILE = `${POLL}/content`;

const generate = (url: string, place: string, ...more: string[]) =>
  runHere(["generate", "m", "--prompt", "x", "-o", place, "--url", url, "--key", "secret", ...more]);

describe("generate", () => {
  test("resends a temporarily rejected submission after Retry-After with the same Idempotency-Key", async () => {
    const busy = () => no(503, "busy", { "retry-after": "0" });
    const { seen, url, stop } = serve({
      [SUBMIT]: [
        busy,
        () => no(500, "server_error", { "retry-after": "0" }),
        () => Response.json(generation("succeeded"), { status: 202 }),
      ],
      [FILE]: [() => new Response("bytes", { headers: { "content-type": "image/png" } })],
    });
    const place = join(freshDir(), "a.png");
    expect((await generate(url, place)).exit as number).toBe(0);
    const keys = seen.filter(({ path }) => path === SUBMIT).map(({ idempotencyKey }) => idempotencyKey);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(await Bun.file(place).text()).toBe("bytes");
    await stop();
  });

  test.each<[string, () => Response, number]>([
    ["a concurrency limit", () => no(429, "concurrency_limit", { "retry-after": "0" }), 75],
    ["repeated unavailability of every route", () => no(503, "model_unavailable", { "retry-after": "0" }), 75],
    ["insufficient credits", () => no(402, "insufficient_credits"), 5],
    ["an idempotency conflict", () => no(409, "idempotency_conflict"), 6],
    [
      "an HTML error page of a proxy",
      () => new Response("<html>bad gateway</html>", { status: 502, headers: { "retry-after": "0" } }),
      1,
    ],
  ])("exits with an error message and no output after %s", async (_, answer, exit) => {
    const { url, stop } = serve({ [SUBMIT]: [answer] });
    const ran = await generate(url, join(freshDir(), "a.png"));
    expect(ran.exit as number).toBe(exit);
    expect(ran.err).toMatch(/^error: /);
    expect(ran.out).toBe("");
    await stop();
  });

  test("continues to poll after temporary errors", async () => {
    const { url, stop } = serve({
      [SUBMIT]: [() => Response.json(generation("queued"), { status: 202 })],
      [POLL]: [
        () => no(429, "rate_limited", { "retry-after": "0" }),
        () => no(503, "restarting", { "retry-after": "0" }),
        () => Response.json(generation("succeeded")),
      ],
      [FILE]: [() => new Response("bytes")],
    });
    expect((await generate(url, join(freshDir(), "a.png"))).exit as number).toBe(0);
    await stop();
  });

  test("follows a redirect to a signed link without the API key", async () => {
    const place = freshDir();
    const link = serve({ "GET /signed": [() => new Response("far bytes")] });
    const { seen, url, stop } = serve({
      [SUBMIT]: [() => Response.json(generation("succeeded"), { status: 202 })],
      [FILE]: [() => new Response(null, { status: 302, headers: { location: `${link.url}signed` } })],
    });
    expect((await generate(url, join(place, "a.png"))).exit as number).toBe(0);
    expect(await Bun.file(join(place, "a.png")).text()).toBe("far bytes");
    expect(seen.at(-1)?.key).toBe("Bearer secret");
    expect(link.seen).toEqual([{ path: "GET /signed", key: null, idempotencyKey: null }]);
    await Promise.all([stop(), link.stop()]);
  });

  test("numbers the files, and keeps only the complete ones when a later file is missing", async () => {
    const place = freshDir();
    const { url, stop } = serve({
      [SUBMIT]: [() => Response.json(generation("succeeded", 3), { status: 202 })],
      [FILE]: [() => new Response("1")],
      [`${FILE}/2`]: [() => new Response("2")],
      [`${FILE}/3`]: [() => no(404, "not_found")],
    });
    expect((await generate(url, join(place, "a.b.png"))).exit as number).toBe(4);
    expect(readdirSync(place).sort()).toEqual(["a.b-2.png", "a.b.png"]);
    await stop();
  });

  test("keeps a file whose connection broke as .part and prints the command that resumes the download", async () => {
    const place = freshDir();
    const breaking = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data: (socket) => {
          socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
        },
      },
    });
    const { url, stop } = serve({
      [SUBMIT]: [() => Response.json(generation("succeeded"), { status: 202 })],
      [FILE]: [() => Response.redirect(`http://127.0.0.1:${breaking.port}/x`, 302)],
    });
    const ran = await generate(url, join(place, "a.png"));
    expect(ran.exit as number).toBe(1);
    expect(ran.err).toMatch(/genrouter download gen_\w+ -o .*a\.png resumes it/);
    expect(readdirSync(place)).toEqual([`a.png.${ID}-1.part`]);
    breaking.stop(true);
    await stop();
  });
});

test("generate redraws one progress line on a terminal, prints a line per change elsewhere, and none with --quiet", async () => {
  const answers = () => ({
    [SUBMIT]: [() => Response.json(generation("queued"), { status: 202 })],
    [POLL]: [() => Response.json(generation("running")), () => Response.json(generation("succeeded"))],
    [FILE]: [() => new Response("bytes")],
  });
  const watched = serve(answers());
  const place = freshDir();
  const words = ["generate", "m", "--prompt", "x", "--force", "-o", join(place, "a.png"), "--key", "k", "--url"];
  const live = await runHere([...words, watched.url], {}, true);
  expect(live.err).toContain("\r\u001b[2K");
  expect(live.err).toMatch(/running {2}attempt 1 {2}00:00 {2}held \$0\.28/);
  expect(live.out).toContain("\u001b[32m✔");
  const piped = serve(answers());
  const plain = await runHere([...words, piped.url]);
  expect(plain.err).toBe(`${ID}  quoted $0.20\nqueued  attempt 1  held $0.28\nrunning  attempt 1  held $0.28\n`);
  expect(plain.out + plain.err).not.toContain("\u001b");
  const quiet = serve(answers());
  expect((await runHere([...words, quiet.url, "--quiet"])).err).toBe("");
  await Promise.all([watched.stop(), piped.stop(), quiet.stop()]);
});

describe("an existing file", () => {
  const answers = () => ({
    [SUBMIT]: [() => Response.json(generation("queued"), { status: 202 })],
    [POLL]: [() => Response.json(generation("succeeded"))],
    [FILE]: [() => new Response("bytes")],
  });
  const words = (url: string, place: string) => ["generate", "m", "--prompt", "x", "-o", place, "--key", "k", "--url", url];

  test.each([["a.png"], ["a-2.png"]])("%s is not replaced, and nothing is submitted", async (name) => {
    const service = serve(answers());
    const place = freshDir();
    writeFileSync(join(place, name), "mine");
    const ran = await runHere(words(service.url, join(place, "a.png")));
    expect([ran.exit as number, ran.err]).toEqual([
      2,
      `error: -o: ${join(place, name)} exists\n  choose another name, or replace it with --force\n`,
    ]);
    expect(service.seen).toEqual([]);
    await service.stop();
    expect(readFileSync(join(place, name), "utf8")).toBe("mine");
  });

  test("is replaced with --force, and a name that only resembles it is no obstacle", async () => {
    const service = serve(answers());
    const place = freshDir();
    writeFileSync(join(place, "a.png"), "mine");
    expect((await runHere([...words(service.url, join(place, "a.png")), "--force"])).exit as number).toBe(0);
    expect(readFileSync(join(place, "a.png"), "utf8")).toBe("bytes");
    writeFileSync(join(place, "b-x.png"), "mine");
    expect((await runHere(words(service.url, join(place, "b.png")))).exit as number).toBe(0);
    await service.stop();
  });
});

test("--json prints one document with the saved files, and an API error has its code and request id once", async () => {
  const service = serve({
    [SUBMIT]: [() => Response.json(generation("queued"), { status: 202 })],
    [POLL]: [() => Response.json(generation("running")), () => Response.json(generation("succeeded"))],
    [FILE]: [() => new Response("bytes")],
  });
  const path = join(freshDir(), "a.png");
  const words = (url: string) => ["generate", "m", "--prompt", "x", "--json", "-o", path, "--key", "k", "--url", url];
  const { out } = await runHere(words(service.url));
  expect(JSON.parse(out)).toMatchObject({ id: ID, status: "succeeded", files: [{ path, bytes: 5 }] });

  const refusing = serve({ [SUBMIT]: [() => no(422, "model_not_available")] });
  const refused = await runHere([...words(refusing.url), "--force"]);
  expect([refused.exit as number, refused.out]).toEqual([6, ""]);
  expect(JSON.parse(refused.err)).toEqual({
    error: { code: "model_not_available", message: "later", request_id: "req_1" },
  });
  await Promise.all([service.stop(), refusing.stop()]);
});

test("a file whose type differs from the extension of its name is saved, and reported", async () => {
  const service = serve({
    [SUBMIT]: [() => Response.json(generation("succeeded"), { status: 202 })],
    [FILE]: [() => new Response("bytes", { headers: { "content-type": "image/png" } })],
  });
  const place = freshDir();
  for (const [name, says] of [
    ["clip.mp4", `${join(place, "clip.mp4")} is image/png; such files usually end in .png`],
    ["picture.png", undefined],
  ] as const) {
    const { exit, err } = await generate(service.url, join(place, name));
    expect([exit as number, err.split("\n").find((line) => line.includes("usually end"))]).toEqual([0, says]);
  }
  await service.stop();
});
