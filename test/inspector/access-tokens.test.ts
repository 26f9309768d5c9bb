// Inspector access without a service: roles of sessions, foreign origins, tokens, and access that ends with a session.
import { expect, test } from "bun:test";
import { type AccessDeps, createAccess } from "../../src/inspector/access.ts";

const HOST = "router.example";
const openHere = (more: Partial<AccessDeps> = {}) => {
  const settings: AccessDeps["settings"] = {
    inspector: { enabled: "on", prompts: false },
    server: { public_url: `https://${HOST}` },
  };
  return createAccess({ settings, simulated: false, nowMs: () => 0, signedIn: async () => null, ...more });
};
const IN = async () => true;
/** A request of a browser with a session cookie. */
const ask = (origin: string | null = `https://${HOST}`) =>
  new Request(`https://${HOST}/inspector/ws`, { headers: { host: HOST, cookie: "s=1", ...(origin === null ? {} : { origin }) } });
const outcome = async (pass: ReturnType<typeof createAccess>, request = ask()) =>
  pass.admit(request, "203.0.113.9").then(
    ({ role }) => role,
    (fault: { status: number }) => fault.status,
  );

test.each([
  { is: "operator", gets: "operator" },
  { is: "viewer", gets: "viewer" },
  { is: "member", gets: 403 },
  { is: null, gets: 401 },
] as const)("a session with the role $is gets $gets", async ({ is, gets }) => {
  expect(await outcome(openHere({ signedIn: async () => is && { role: is, isStillIn: IN } }))).toBe(gets);
});

test("rejects the cookie of an operator on a page of another origin with 403", async () => {
  const pass = openHere({ signedIn: async () => ({ role: "operator", isStillIn: IN }) });
  for (const origin of ["https://evil.example", `https://${HOST}.evil.example`, `https://${HOST}:8443`, "null"])
    expect(await outcome(pass, ask(origin))).toBe(403);
  expect(await outcome(pass, ask(null))).toBe("operator");
});

test("rejects a token after the session that issued it has ended, and keeps tokens of the command line", async () => {
  let isIn = true;
  const pass = openHere();
  const token = pass.issue("viewer", async () => isIn).token;
  const own = pass.issue("operator").token;
  const by = (which: string) => new Request(`https://${HOST}/inspector/ws?token=${which}`, { headers: { host: HOST } });
  const { role, isStillIn } = await pass.admit(by(token), undefined);
  expect([role, await isStillIn()]).toEqual(["viewer", true]);
  isIn = false;
  expect(await isStillIn()).toBe(false);
  expect(await outcome(pass, by(token))).toBe(401);
  expect(await outcome(pass, by(own))).toBe("operator");
});

test("is disabled by default in production, and then grants this machine no special access", async () => {
  const settings = {
    inspector: { enabled: "auto", prompts: false },
    server: { public_url: "" },
  } as const;
  const local = new Request("http://127.0.0.1:8080/inspector/ws", { headers: { host: "127.0.0.1:8080" } });
  const enter = (pass: ReturnType<typeof createAccess>) =>
    pass.admit(local, "127.0.0.1").then(
      ({ role }) => role,
      ({ status }) => status,
    );
  expect(await enter(openHere({ settings }))).toBe(404);
  expect(await enter(openHere({ settings: { ...settings, inspector: { enabled: "on", prompts: false } } }))).toBe(401);
  expect(await enter(openHere({ settings, simulated: true }))).toBe("operator");
});
