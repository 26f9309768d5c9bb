// The console API over plain http on a LAN address, where a browser stores no session: it rejects requests and changes nothing.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { PASSWORD, setUpToken, tokenOf, visit } from "../console/visitor.ts";
import { type Harness, openHarness } from "../harness.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const port = () => new URL(harness.url).port;
/** Sends a request as a page of that origin, with the Origin and Host headers of its browser. */
const from = async (origin: string, path: string, body: unknown): Promise<[number, string]> => {
  const host = new URL(origin).host;
  const { status, body: reported } = await visit(harness).ask("POST", path, body, { origin, host });
  const { error } = reported as { error?: { code: string; message: string } };
  if (error?.code === "insecure_origin")
    expect(error.message).toMatch(/requires https or http:\/\/localhost.*Nothing was changed.*proxy with TLS.*SSH tunnel/);
  return [status, error?.code ?? "ok"];
};
const REFUSED: [number, string] = [403, "insecure_origin"];
/** Everything that a sign-in, an accepted link or a new account would change. */
const kept = async () => ({
  ...(await (await harness.admin()).listUsers({})),
  audit: (await harness.store.audit(null, 100, {})).length,
  logged: harness.lines.filter(({ event }) => event === "signed in" || event === "sign-in rejected").length,
});

test("rejects set-up links, invitations, sign-ups and sign-ins over plain http with 403 and changes nothing", async () => {
  const token = await setUpToken(harness);
  const who = { email: "ada@example.com", name: "Ada", password: PASSWORD };
  const before = await kept();
  for (const origin of [
    `http://192.168.1.5:${port()}`,
    "http://genrouter.lan",
    `http://[fd00::5]:${port()}`,
    "http://localhost.example",
  ]) {
    expect(await from(origin, "/console/api/link", { token })).toEqual(REFUSED);
    expect(await from(origin, "/console/api/link/accept", { token, ...who })).toEqual(REFUSED);
    expect(await from(origin, "/console/api/session", { email: who.email, password: "wrong-password" })).toEqual(REFUSED);
    expect(await from(origin, "/console/api/sign-up", who)).toEqual(REFUSED);
  }
  expect(await kept()).toEqual(before);
  expect(await from(`http://localhost:${port()}`, "/console/api/link/accept", { token, ...who })).toEqual([200, "ok"]);

  const ada = visit(harness);
  await ada.ok("POST", "/console/api/session", { email: who.email, password: PASSWORD });
  const invited = await ada.ok("POST", "/console/api/operator/invitations", {
    ...{ email: "ben@example.com", role: "viewer", accountId: null, accountName: null },
  });
  const invitation = { token: tokenOf(invited.url), name: "Ben", password: PASSWORD };
  expect(await from("http://10.0.0.7:8080", "/console/api/link/accept", invitation)).toEqual(REFUSED);
  expect(await from("https://10.0.0.7:8080", "/console/api/link/accept", invitation)).toEqual([200, "ok"]);
  for (const origin of [
    "https://genrouter.example",
    "http://127.0.0.1:8080",
    "http://[::1]:8080",
    "http://genrouter.localhost:8080",
  ])
    expect(await from(origin, "/console/api/session", { email: who.email, password: PASSWORD })).toEqual([200, "ok"]);
});
