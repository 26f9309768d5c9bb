// Access to replays: signed-in users, and this machine with the simulator; none when the inspector is disabled.
import { expect, test } from "bun:test";
import type { GenerationHistoryDto } from "../../src/inspector/generation-history-dto.ts";
import { askConsole, openVisitor } from "../console/signed-in.ts";
import { type Harness, openHarness } from "../harness.ts";

const PROMPT = "canary-12";
/** A harness with a completed generation. */
const lived = async (env: Record<string, string> = {}) => {
  const harness = await openHarness({ env });
  const { id } = await harness.submit("sim-image-1", { prompt: PROMPT });
  await harness.until(id);
  return { harness, id, path: `/inspector/api/generations/${id}` };
};
const ask = async (harness: Harness, path: string, headers: Record<string, string> = {}) => {
  const { status, reported } = await askConsole(harness, ["GET", path], headers);
  return [status, (reported.error as { code?: string } | undefined)?.code ?? null] as const;
};
const SIGNED_OUT = [401, "signed_out"] as const;

test("with the simulator, this machine gets the same replay as an operator without signing in, and without the prompt", async () => {
  const { harness, path } = await lived();
  const { status, text, reported } = await askConsole(harness, ["GET", path]);
  expect([status, text.includes(PROMPT)]).toEqual([200, false]);
  const operator = await openVisitor(harness, "operator", null);
  expect(reported).toEqual((await operator.ask("GET", path)).reported);
  expect((reported as unknown as GenerationHistoryDto).given.journal.length).toBeGreaterThan(3);
  expect(await ask(harness, `/inspector/api/generations/gen_${"0".repeat(26)}`)).toEqual([404, "not_found"]);
  // Tokens for pages require a signed-in user.
  expect((await askConsole(harness, ["POST", "/inspector/api/token"])).status).toBe(401);
  await harness.close();
});

test("foreign origins, forwarded requests and foreign host names are not treated as this machine", async () => {
  const { harness, path } = await lived();
  for (const origin of ["https://evil.example", "null", "http://127.0.0.1:1"])
    expect([origin, await ask(harness, path, { origin })]).toEqual([origin, SIGNED_OUT]);
  expect(await ask(harness, path, { host: "evil.example" })).toEqual(SIGNED_OUT);
  expect(await ask(harness, path, { origin: "http://evil.example", host: "evil.example" })).toEqual(SIGNED_OUT);
  for (const name of ["x-forwarded-for", "x-real-ip", "forwarded", "via"])
    expect([name, await ask(harness, path, { [name]: "127.0.0.1" })]).toEqual([name, SIGNED_OUT]);
  await harness.close();
});

test("with a public address, requests from this machine require sign-in", async () => {
  const { harness, path } = await lived({ GENROUTER_SERVER__PUBLIC_URL: "https://api.example" });
  const local = { origin: harness.url };
  expect([await ask(harness, path), await ask(harness, path, local)]).toEqual([SIGNED_OUT, SIGNED_OUT]);
  await harness.close();
});

test("on this machine, a session of a member still restricts replays to the member's account", async () => {
  const { harness, path } = await lived();
  const other = await openVisitor(harness, "member", await harness.newTenant());
  const own = await openVisitor(harness, "member", harness.tenant);
  expect([(await other.ask("GET", path)).status, (await own.ask("GET", path)).status]).toEqual([404, 200]);
  expect((await own.ask("GET", path)).reported.accountId).toBe(null);
  await harness.close();
});

test("returns the same 404 to all when the inspector is disabled, signed in or not", async () => {
  const { harness, path } = await lived({ GENROUTER_INSPECTOR__ENABLED: "off" });
  const operator = await openVisitor(harness, "operator", null);
  const answers = await Promise.all([
    askConsole(harness, ["GET", path]),
    askConsole(harness, ["GET", "/inspector/api/generations/gen_unknown"]),
    askConsole(harness, ["POST", "/inspector/api/token"]),
    operator.ask("GET", path),
    operator.ask("POST", "/inspector/api/token"),
  ]);
  const message = "The inspector is disabled; an operator can set inspector.enabled to on.";
  for (const { status, reported } of answers)
    expect([status, reported]).toEqual([404, { error: { code: "not_found", message } }]);
  await harness.close();
});
