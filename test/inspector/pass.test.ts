// The pass by itself: roles by session, pages of other addresses, and whether whoever was let in still may look on.
import { expect, test } from "bun:test";
import { openPass, type PassParts } from "../../src/inspector/pass.ts";

const HOST = "router.example";
const openHere = (more: Partial<PassParts> = {}) => {
  const settings: PassParts["settings"] = {
    inspector: { enabled: "on", prompts: false },
    server: { host: "0.0.0.0", port: 443, public_url: `https://${HOST}`, drain_s: 25 },
  };
  return openPass({ settings, simulated: false, nowMs: () => 0, signedIn: async () => null, ...more });
};
/** A request of somebody's browser, with the cookie of a session. */
const ask = (origin: string | null = `https://${HOST}`) =>
  new Request(`https://${HOST}/inspector/ws`, { headers: { host: HOST, cookie: "s=1", ...(origin === null ? {} : { origin }) } });
const outcome = async (pass: ReturnType<typeof openPass>, request = ask()) =>
  pass.admit(request, "203.0.113.9").then(
    ({ role }) => role,
    (fault: { status: number }) => fault.status,
  );

test.each([
  { is: "operator", gets: "operator" },
  { is: "viewer", gets: "viewer" },
  { is: "member", gets: 403 },
  { is: null, gets: 401 },
] as const)("who is signed in as $is gets $gets", async ({ is, gets }) => {
  expect(await outcome(openHere({ signedIn: async () => is }))).toBe(gets);
});

test("an operator's cookie is worth nothing to a page of another address", async () => {
  const pass = openHere({ signedIn: async () => "operator" });
  for (const origin of ["https://evil.example", `https://${HOST}.evil.example`, `https://${HOST}:8443`, "null"])
    expect(await outcome(pass, ask(origin))).toBe(403);
  expect(await outcome(pass, ask(null))).toBe("operator");
});

test("whoever signs out, or loses the role, may not go on looking", async () => {
  let role: "operator" | "viewer" | "member" | null = "operator";
  const pass = openHere({ signedIn: async (request) => (request.headers.get("cookie") === "s=1" ? role : null) });
  const { isStillIn } = await pass.admit(ask(), "203.0.113.9");
  expect(await isStillIn()).toBe(true);
  for (const now of ["viewer", "member", null] as const) {
    role = now;
    expect(await isStillIn()).toBe(false);
  }
});

test("in production it is off unless it is switched on, and this machine is nobody special", async () => {
  const settings = {
    inspector: { enabled: "auto", prompts: false },
    server: { host: "127.0.0.1", port: 8080, public_url: "", drain_s: 25 },
  } as const;
  const local = new Request("http://127.0.0.1:8080/inspector/ws", { headers: { host: "127.0.0.1:8080" } });
  const enter = (pass: ReturnType<typeof openPass>) =>
    pass.admit(local, "127.0.0.1").then(
      ({ role }) => role,
      ({ status }) => status,
    );
  expect(await enter(openHere({ settings }))).toBe(404);
  expect(await enter(openHere({ settings: { ...settings, inspector: { enabled: "on", prompts: false } } }))).toBe(401);
  expect(await enter(openHere({ settings, simulated: true }))).toBe("operator");
});
