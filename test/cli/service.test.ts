// Commands against a service in a separate process: start, streams, exit codes, generate, trace, verify and drain.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM } from "../built.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

const SPEED = "50";

type Started = { child: Bun.Subprocess<"ignore", "pipe", "pipe">; url: string; key: string; curl: string; err: Promise<string> };

const spawn = (words: string[], env: Record<string, string> = {}) =>
  Bun.spawn([...PROGRAM, ...words], {
    env: { PATH: process.env.PATH ?? "", GENROUTER_SIMULATOR__SPEED: SPEED, GENROUTER_LIMITS__BURST_PER_S: "1000", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });

/** Starts a service with the simulator and waits for the last line that it prints at the start. */
const start = async (dir: string): Promise<Started> => {
  const child = spawn(["serve", "--simulate", "--port", "0", "--data", dir]);
  const err = new Response(child.stderr).text();
  const reader = child.stdout.getReader();
  let out = "";
  while (!/^curl .*\n/m.test(out)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the service ended: ${await err}`);
    out += new TextDecoder().decode(value);
  }
  reader.releaseLock();
  const lines = out.trimEnd().split("\n");
  expect(lines.map((line) => line.split(" ")[0])).toEqual(["url", "key", "curl"]);
  const [url = "", key = ""] = lines.map((line) => line.split(" ")[1] ?? "");
  return { child, url, key, curl: lines[2] ?? "", err };
};

/** Stops the service and returns its exit code and standard error. */
const stop = async (service: Started): Promise<{ exit: number; err: string }> => {
  service.child.kill("SIGTERM");
  const exit = await service.child.exited;
  return { exit, err: await service.err };
};

afterAll(dropDirs);

describe("a service with the simulator", () => {
  const dir = freshDir();
  const place = freshDir();
  let service: Started;
  beforeAll(async () => {
    service = await start(dir);
  });
  afterAll(() => stop(service));

  test("the printed curl answers 202", async () => {
    const answer = Bun.spawnSync(["sh", "-c", service.curl]).stdout.toString();
    expect(answer).toStartWith("HTTP/1.1 202");
  });

  test("generate finds the service and its key through --data and saves every file", async () => {
    const place = freshDir();
    const words = ["generate", "sim-image-1", "--prompt", "a tin robot", "-o", join(place, "robot.png"), "--data", dir];
    const { exit, out, err } = await runHere(words);
    expect([exit as number, err]).toEqual([0, expect.stringContaining("quoted $")]);
    expect(out).toMatch(/^✔ succeeded in \d+ s {2}charged \$\d+\.\d\d {2}attempts 1 {2}→ .*robot\.png, .*robot-2\.png/);
    expect(readdirSync(place).sort()).toEqual(["robot-2.png", "robot.png"]);
    for (const name of readdirSync(place)) {
      const picture = await new Bun.Image(await Bun.file(join(place, name)).bytes()).metadata();
      expect(picture.format).toBe("png");
    }
  });

  test("generate --json prints one JSON document on standard output, and leaves no file when the generation fails", async () => {
    const words = [
      "generate",
      "vidmodel-2.0-fast",
      "--prompt",
      "[sim:fail-later]",
      "--duration",
      "4",
      "--json",
      "-o",
      join(place, "never.mp4"),
    ];
    const { exit, out, err } = await runHere([...words, "--url", service.url, "--key", service.key]);
    expect(exit as number).toBe(7);
    expect(JSON.parse(out)).toMatchObject({
      object: "generation",
      status: "failed",
      cost_usd: 0,
      error: { code: "provider_failed" },
      files: [],
    });
    expect(err.match(/nothing (was )?charged/gi)).toEqual(["Nothing was charged"]);
    expect(readdirSync(place).filter((name) => name.startsWith("never"))).toEqual([]);
  });

  test("the same --idempotency-key creates one generation, which get and download find", async () => {
    const words = ["generate", "sim-speech-1", "--prompt", "hello", "--idempotency-key", "k-1", "--no-wait", "--data", dir];
    const first = await runHere(words);
    expect(first.out).toMatch(/^gen_\w+\n$/);
    expect((await runHere(words)).out).toBe(first.out);
    const id = first.out.trim();
    const saved = await runHere(["download", id, "-o", `${place}/`, "--data", dir]);
    expect([saved.exit as number, saved.err]).toEqual([0, expect.any(String)]);
    expect(existsSync(join(place, `${id}.mp3`)) || existsSync(join(place, `${id}.wav`))).toBe(true);
    const seen = await runHere(["get", id, "--json", "--data", dir]);
    expect(JSON.parse(seen.out)).toMatchObject({ id, status: "succeeded" });
  });

  test.each<[string[], number, RegExp]>([
    [["get", "gen_none"], 4, /not_found: .*\n {2}request id req_/],
    [["generate", "vidmodel-9", "--prompt", "x"], 6, /model_not_available/],
    [["generate", "vidmodel-2.0", "--prompt", "x", "--duration", "99"], 6, /input\.duration: 99/],
    [["generate", "vidmodel-2.0", "--prompt", "x", "--max-cost-usd", "0.01"], 6, /max_cost_exceeded/],
    [["generate", "vidmodel-2.0", "--prompt", "x", "--key", "gr_test_wrong"], 3, /unauthorized/],
    [
      ["generate", "vidmodel-2.0", "--prompt", "[sim:stuck]", "--duration", "4", "--timeout", "1"],
      8,
      /is still (queued|running) after 1 s/,
    ],
  ])("%p exits with %d", async (words, exit, message) => {
    const ran = await runHere([...words, "--data", dir]);
    expect([ran.exit as number, ran.out]).toEqual([exit, ""]);
    expect(ran.err).toMatch(message);
  });

  test("generate works at once with a new account, and exits with 5 without credits and with 3 when the account is paused", async () => {
    const made = JSON.parse((await runHere(["accounts", "create", "--name", "poor", "--json", "--data", dir])).out);
    const { key } = JSON.parse((await runHere(["keys", "create", "--account", made.id, "--json", "--data", dir])).out);
    const words = ["generate", "sim-image-1", "--prompt", "x", "--no-wait", "--url", service.url, "--key", key];
    expect((await runHere(words)).exit as number).toBe(5);
    await runHere(["credits", "add", "--account", made.id, "--usd", "1", "--data", dir]);
    expect((await runHere(words)).exit as number).toBe(0);
    const shown = JSON.parse((await runHere(["credits", "show", "--account", made.id, "--json", "--data", dir])).out);
    expect(shown.balance_usd).toBe(shown.held_usd + shown.available_usd);
    await runHere(["accounts", "pause", made.id, "--data", dir]);
    expect((await runHere(words)).exit as number).toBe(3);
  });

  test("trace lists events and transfers in chronological order", async () => {
    const [id = ""] =
      (
        await runHere(["generate", "sim-image-1", "--prompt", "t", "--json", "-o", join(place, "t.png"), "--data", dir])
      ).out.match(/gen_\w+/) ?? [];
    const { out } = await runHere(["trace", id, "--data", dir]);
    const names = out.split("\n").flatMap((line) => /^\+\d\d:\d\d:\d\d\.\d{3} {2}(\$ \w+|\w+)/.exec(line)?.[1] ?? []);
    expect(names[0]).toBe("$ hold");
    expect(names.slice(1, 3)).toEqual(["begun", "slotTaken"]);
    expect(names.slice(-3)).toEqual(["collected", "$ capture", "$ release"]);
    const json = JSON.parse((await runHere(["trace", id, "--json", "--data", dir])).out);
    expect(json).toMatchObject({ generation: { id, status: "succeeded" }, attempts: [{ state: "delivered" }] });
    const times = json.events.map((event: { at: string }) => event.at);
    expect(times).toEqual([...times].sort());
  });

  test("Ctrl-C ends generate with exit code 130 and prints the download command while the generation continues", async () => {
    const words = ["generate", "sim-image-1", "--prompt", "[sim:slow]", "-o", join(place, "later.png"), "--data", dir];
    const child = spawn(words);
    const reader = child.stderr.getReader();
    let err = "";
    const read = async (until: RegExp) => {
      while (!until.test(err)) {
        const { value, done } = await reader.read();
        if (done) break;
        err += new TextDecoder().decode(value);
      }
    };
    await read(/queued|running/);
    child.kill("SIGINT");
    await read(/error: stopped/);
    expect(await child.exited).toBe(130);
    expect(err).toMatch(/genrouter download gen_\w+ -o .*later\.png/);
    const [id = ""] = /gen_\w+/.exec(err) ?? [];
    expect((await runHere(["download", id, "-o", join(place, "later.png"), "--data", dir])).exit as number).toBe(0);
    expect(existsSync(join(place, "later.png"))).toBe(true);
  });

  test("serve exits without a stack trace when the port or the data directory is in use", async () => {
    const port = new URL(service.url).port;
    const taken = await runHere(["serve", "--simulate", "--port", port, "--data", freshDir()]);
    expect([taken.exit as number, taken.err]).toEqual([
      1,
      `error: port ${port} is in use; set GENROUTER_SERVER__PORT or --port\n`,
    ]);
    const second = spawn(["serve", "--simulate", "--port", "0", "--data", dir]);
    expect(await second.exited).toBe(75);
    expect(await new Response(second.stderr).text()).toMatch(/^error: .*already running as pid \d+/);
    const live = spawn(["serve", "--port", "0", "--data", dir], { FAL_KEY: "k" });
    expect(await live.exited).toBe(75);
  });
});

test("SIGTERM drains and the service exits with 0; verify passes before and after, and the next start has the same key", async () => {
  const dir = freshDir();
  const service = await start(dir);
  await runHere(["generate", "sim-image-1", "--prompt", "x", "-o", `${dir}/x.png`, "--data", dir]);
  const checks = JSON.parse((await runHere(["verify", "--json", "--data", dir])).out);
  expect(checks).toMatchObject({ ok: true });
  expect(checks.checks).toHaveLength(13);
  const words = ["vidmodel-2.0-fast", "--prompt", "a kite [sim:stuck]", "--json", "--data", dir];
  const running = spawn(["generate", ...words]);
  while (JSON.parse((await runHere(["accounts", "list", "--json", "--data", dir])).out)[0].in_progress !== 1) await Bun.sleep(5);
  running.kill("SIGINT");
  await running.exited;
  const ended = await stop(service);
  expect(ended.exit).toBe(0);
  // The drain logs how many generations remain for the next start.
  const stopped = ended.err.split("\n").find((line) => line.includes('"msg":"service stopped"')) ?? "{}";
  const { queued, running: left, dur_ms } = JSON.parse(stopped);
  expect([queued + left, dur_ms]).toEqual([1, expect.any(Number)]);
  expect(ended.err).toContain("SIMULATOR MODE: no provider is called and nothing is billed");
  expect(ended.err).toContain("draining");
  expect(ended.err).not.toContain(service.key);
  expect((await runHere(["verify", "--data", dir])).exit as number).toBe(0);
  // The drain stores when the key was last used; the other key was never used.
  const keys = JSON.parse((await runHere(["keys", "list", "--json", "--data", dir])).out) as { last_used_at: string | null }[];
  expect(keys.filter(({ last_used_at }) => last_used_at !== null)).toHaveLength(1);
  const again = await start(dir);
  expect(again.key).toBe(service.key);
  expect((await stop(again)).exit).toBe(0);
  const live = spawn(["serve", "--port", "0", "--data", dir], { FAL_KEY: "k" });
  expect(await live.exited).toBe(2);
  expect(await new Response(live.stderr).text()).toMatch(/created for the simulator/);
});

test("the start names the revision of the sources", async () => {
  const service = await start(freshDir());
  const { err } = await stop(service);
  const git = Bun.spawnSync(["git", "rev-parse", "HEAD"], { cwd: import.meta.dir });
  const [, printed = ""] = /^genrouter \S+ \(interface \S+, rev (\w+), /m.exec(err) ?? [];
  if (git.exitCode === 0) expect([printed.length > 6, git.stdout.toString().startsWith(printed)]).toEqual([true, true]);
  else expect(printed).toBe("unknown");
});

test("verify exits with 1 and prints the rows when a balance was changed by hand", async () => {
  const dir = freshDir();
  expect((await runHere(["accounts", "create", "--name", "demo", "--credit-usd", "5", "--data", dir])).exit as number).toBe(0);
  expect((await runHere(["verify", "--data", dir])).exit as number).toBe(0);
  const db = new Database(join(dir, "genrouter.db"));
  db.run("DROP TRIGGER balance_follows_transfer");
  db.run(
    "UPDATE balance SET available_credits = available_credits + 1 WHERE account_seq = (SELECT seq FROM account WHERE name = 'demo')",
  );
  db.close();
  const { exit, out } = await runHere(["verify", "--data", dir]);
  expect(exit as number).toBe(1);
  expect(out).toMatch(/✘ {2}1 .*\n {6}\{/);
  expect(JSON.parse((await runHere(["verify", "--json", "--data", dir])).out).ok).toBe(false);
});

test("verify exits with 2 when genrouter.db is not a database", async () => {
  const dir = freshDir();
  writeFileSync(join(dir, "genrouter.db"), "no database at all, but long enough to be read as one".repeat(100));
  const { exit, err } = await runHere(["verify", "--data", dir]);
  expect([exit as number, err]).toEqual([2, expect.stringMatching(/^error: /)]);
  expect(readFileSync(join(dir, "genrouter.db"), "utf8")).toStartWith("no database");
});
