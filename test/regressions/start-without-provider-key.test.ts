// Live start without a provider key: routes become available with the first key, without a restart.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { type Child, start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { tokenOf, type Visitor, visit } from "../console/visitor.ts";

const dir = join(freshDir(), "data");
const KEY = "fal-key:0123456789";
let simulator: Simulator;
let service: Child;
let url = "";
let api = "";
beforeAll(async () => {
  simulator = await createSimulator({ speed: 1_000, seed: 7, kindOf: () => "audio" });
  service = start([...PROGRAM, "serve", "--port", "0", "--data", dir], {
    GENROUTER_PROVIDERS__FAL__BASE_URL: simulator.baseUrls.fal ?? "",
  });
  [, url = ""] = await service.hears(/^url (\S+)$/m);
});
afterAll(async () => {
  service.kill("SIGTERM");
  await service.ended;
  await simulator.stop();
  dropDirs();
});

const command = async (...words: string[]) => {
  const ran = await runHere([...words, "--data", dir]);
  return { ...ran, exit: ran.exit as number };
};
const listed = async (): Promise<string[]> => {
  const list = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
  return list.data.map(({ id }) => id);
};
const submitted = async (): Promise<[number, string]> => {
  const headers = { authorization: `Bearer ${api}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: "kokoro-82m", input: { prompt: "hello" } });
  const answer = await fetch(`${url}/v1/generations`, { method: "POST", headers, body });
  const reported = (await answer.json()) as { status?: string; error?: { code: string } };
  return [answer.status, reported.error?.code ?? reported.status ?? ""];
};
/** The first operator, signed in with the link that `users setup` prints. */
const operator = async (): Promise<Visitor> => {
  const { out } = await command("users", "setup");
  const visitor = visit({ url });
  const who = { email: "ada@example.com", name: "Ada", password: "correct horse battery" };
  await visitor.ok("POST", "/console/api/link/accept", { token: tokenOf(/http\S+/.exec(out)?.[0]), ...who });
  return visitor;
};

/** Creates an account with credits and an API key before a provider key is set. */
const opened = async (): Promise<void> => {
  const { id } = JSON.parse((await command("accounts", "create", "--name", "acme", "--credit-usd", "5", "--json")).out) as {
    id: string;
  };
  api = (JSON.parse((await command("keys", "create", "--account", id, "--json")).out) as { key: string }).key;
};

const requireReady = async (): Promise<void> => {
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([200, { status: "ready", faults: [] }]);
};

/** Checks what the service and the commands report while no key is set. */
const requireNone = async (): Promise<void> => {
  const says =
    /no provider has a key, .*console's page Providers \(Set key\), .*genrouter providers set-key.*GENROUTER_PROVIDERS__FAL__KEY/;
  expect(service.output()).toMatch(new RegExp(`routes +none can run: ${says.source}`));
  expect(service.output()).toMatch(new RegExp(`"reason":"${says.source}.*"msg":"provider keys missing"`));
  await requireReady();
  expect(await listed()).toEqual([]);
  expect(await submitted()).toEqual([422, "model_not_available"]);
  const models = JSON.parse((await command("models", "--all", "--json")).out) as { routes: { available: boolean }[] }[];
  expect(models.length).toBeGreaterThan(0);
  expect(models.flatMap(({ routes }) => routes).filter(({ available }) => available)).toEqual([]);
  const doctor = await command("doctor", "--json");
  const { ok, findings } = JSON.parse(doctor.out) as { ok: boolean; findings: { says: string; fix: string | null }[] };
  expect(ok).toBe(false);
  const { fix } = findings.find(({ says: found }) => found === "no provider has a key") ?? {};
  expect(fix).toMatch(/console's page Providers \(Set key\), or genrouter providers set-key PROVIDER/);
  const checked = await command("config", "check");
  expect([checked.exit, checked.out]).toEqual([0, expect.stringMatching(/^! no provider has a key/m)]);
};

test("a service without provider keys starts, prints how to set one and enables routes with the first key", async () => {
  await opened();
  await requireNone();

  const key = join(freshDir(), "fal.key");
  await Bun.write(key, `${KEY}\n`);
  const set = await command("providers", "set-key", "fal", "--file", key);
  expect([set.exit, set.err]).toEqual([0, expect.any(String)]);
  expect(await listed()).toContain("kokoro-82m");
  expect((await command("config", "check")).out).not.toContain("no provider has a key");

  expect((await command("providers", "drop-key", "fal")).exit).toBe(0);
  expect(await listed()).toEqual([]);
  await requireReady();

  const ada = await operator();
  await ada.ok("POST", "/console/api/operator/providers/fal/key", { key: KEY });
  expect(await listed()).toContain("kokoro-82m");
  const place = join(freshDir(), "said.wav");
  const ran = await runHere(["generate", "kokoro-82m", "--prompt", "hello", "-o", place, "--url", url, "--key", api]);
  expect([ran.exit as number, ran.err]).toEqual([0, expect.any(String)]);
  expect(await Bun.file(place).slice(0, 4).text()).not.toBe("");
}, 30_000);
