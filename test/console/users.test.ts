// Users of the console over HTTP: sign-in, sessions, throttling, and no secret in the database.
import { afterAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join as pathOf } from "node:path";
import { hashToken } from "../../src/domain/ids.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, type HarnessOptions, openHarness } from "../harness.ts";
import { openOperators } from "./operators.ts";
import { join, PASSWORD, setUp, setUpToken, tokenOf, visit } from "./visitor.ts";

const harnesses: Harness[] = [];
const open = async (options: HarnessOptions = {}): Promise<Harness> => {
  const harness = await openHarness({ factor: 0, ...options });
  harnesses.push(harness);
  return harness;
};
afterAll(async () => {
  for (const harness of harnesses) await harness.close();
  dropDirs();
});
const DAY_MS = 86_400_000;
const SESSION = "/console/api/session";
const ADA = { email: "ada@example.com", password: PASSWORD };

test("a set-up link creates the first operator once and is rejected afterwards", async () => {
  const harness = await open();
  expect(await visit(harness).ok("GET", "/console/api/me")).toEqual({
    ...{ signedIn: null, isSetUp: false, signUp: false, simulated: true, inspector: false, command: "npm run -s genrouter --" },
  });
  const token = await setUpToken(harness);
  expect(await visit(harness).ok("POST", "/console/api/link", { token })).toMatchObject({ kind: "setup", role: "operator" });
  const ask = { token, name: "Ada", ...ADA };
  const answers = await Promise.all([1, 2].map(() => visit(harness).ask("POST", "/console/api/link/accept", ask)));
  // 409: both requests read the unused link. 422: the second request began after the first had ended.
  const [accepted, rejected] = answers.map(({ status }) => status).sort();
  expect([accepted, [409, 422].includes(rejected ?? 0)]).toEqual([200, true]);
  expect(await visit(harness).no("POST", "/console/api/link/accept", ask)).toBe("refused");
  const ada = visit(harness);
  await ada.ok("POST", SESSION, ADA);
  expect(await ada.ok("GET", "/console/api/me")).toMatchObject({
    signedIn: { role: "operator", email: ADA.email },
    isSetUp: true,
  });
});

test("offers the inspector to operators and viewers, and not while it is off", async () => {
  for (const [enabled, admitted] of [
    ["on", true],
    ["off", false],
  ] as const) {
    const users = await openOperators(await open({ env: { GENROUTER_INSPECTOR__ENABLED: enabled } }));
    for (const role of ["operator", "viewer", "member"] as const) {
      const { reported } = await users[role].ask("GET", "/console/api/me");
      expect([enabled, role, reported.inspector]).toEqual([enabled, role, admitted && role !== "member"]);
    }
  }
});

test("the session cookie is HttpOnly, Secure and SameSite, and the database contains only its hash", async () => {
  const dir = freshDir();
  const harness = await open({ dir });
  await setUp(harness);
  const { headers } = await visit(harness).ask("POST", SESSION, { ...ADA, email: " ADA@example.com " });
  expect(headers.getSetCookie()[0]).toMatch(
    /^__Host-genrouter=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=2592000$/,
  );
  const token = /=([\w-]{43});/.exec(headers.getSetCookie()[0] ?? "")?.[1] ?? "";
  const written = readdirSync(dir)
    .filter((name) => name.startsWith("genrouter.db"))
    .map((name) => readFileSync(pathOf(dir, name), "latin1"))
    .join("");
  expect(written).toContain(hashToken(token));
  expect(written).toContain("$argon2id$");
  for (const secret of [token, PASSWORD]) expect(written).not.toContain(secret);
  expect(JSON.stringify(harness.lines)).not.toContain(token);
});

test("returns the same error for a wrong password, an unknown address and a disabled user", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  await join(harness, ada, { email: "ben@example.com", role: "viewer" });
  const { users } = (await ada.ok("GET", "/console/api/operator/users")) as { users: { id: string; email: string }[] };
  const ben = users.find(({ email }) => email === "ben@example.com");
  await ada.ok("PATCH", `/console/api/operator/users/${ben?.id}`, { disabled: true });
  const answers = await Promise.all(
    [
      { ...ADA, password: "wrong horse battery" },
      { ...ADA, email: "unknown@example.com" },
      { ...ADA, email: "ben@example.com" },
      { ...ADA, email: "no address" },
    ].map((ask) => visit(harness).ask("POST", SESSION, ask)),
  );
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]?.body).toEqual({ error: { code: "refused", message: "The e-mail address or the password is wrong." } });
});

test("throttles password guesses for a minute and does not affect other users or existing sessions", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  await join(harness, ada, { email: "ben@example.com", role: "viewer" });
  const guess = () => visit(harness).ask("POST", SESSION, { ...ADA, password: "wrong horse battery" });
  const codes = await Promise.all(Array.from({ length: 14 }, guess));
  expect(codes.filter(({ status }) => status === 422)).toHaveLength(10);
  const refused = codes.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(4);
  expect(refused[0]?.headers.get("retry-after")).toBe("60");
  expect((await visit(harness).ask("POST", SESSION, ADA)).status).toBe(429);
  await visit(harness).ok("POST", SESSION, { ...ADA, email: "ben@example.com" });
  // Existing sessions remain valid.
  await ada.ok("GET", "/console/api/sessions");
  await harness.clock.skip(60_000);
  await visit(harness).ok("POST", SESSION, ADA);
});

test("rejects a change without the CSRF token of the session or from another origin", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  const path = "/console/api/me";
  const rename = { name: "Ada L." };
  expect((await ada.ask("PATCH", path, rename, { "x-csrf-token": "" })).body).toMatchObject({ error: { code: "csrf" } });
  const other = visit(harness);
  await other.ok("POST", SESSION, ADA);
  expect((await ada.ask("PATCH", path, rename, { "x-csrf-token": other.csrf ?? "" })).status).toBe(403);
  expect((await ada.ask("PATCH", path, rename, { origin: "https://evil.example" })).status).toBe(403);
  expect((await ada.ask("PATCH", path, rename, { "sec-fetch-site": "cross-site" })).status).toBe(403);
  // Another site cannot sign in a visitor as another user either.
  expect((await visit(harness).ask("POST", SESSION, ADA, { origin: "https://evil.example" })).status).toBe(403);
  expect(await ada.ok("PATCH", path, rename)).toMatchObject({ signedIn: rename });
});

test("rejects JSON that is nested deeper than 64 levels with 400", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  const generation = (prompt: string) =>
    fetch(`${harness.url}/console/api/generations`, {
      method: "POST",
      body: `{"model":"vidmodel-2.0-fast","input":{"prompt":${prompt}}}`,
      headers: { origin: harness.url, cookie: ada.cookie ?? "", "x-csrf-token": ada.csrf ?? "", "idempotency-key": "deep" },
    });
  const answer = await generation(`${"[".repeat(200_000)}${"]".repeat(200_000)}`);
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { error: { code: "invalid", message: "The request is nested deeper than 64 levels." } },
  ]);
});

test("a session ends after a week without use, and after 30 days in any case", async () => {
  const harness = await open();
  const [ada, idle] = [await setUp(harness), visit(harness)];
  await idle.ok("POST", SESSION, ADA);
  for (let day = 6; day < 30; day += 6) {
    await harness.clock.skip(6 * DAY_MS);
    await ada.ok("GET", "/console/api/sessions");
    if (day === 12) expect(await idle.no("GET", "/console/api/sessions")).toBe("signed_out");
  }
  await harness.clock.skip(6 * DAY_MS);
  expect(await ada.no("GET", "/console/api/sessions")).toBe("signed_out");
});

test("signing in issues a new token for any sent cookie and ends the previous session", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  const planted = visit(harness, { cookie: `__Host-genrouter=${"A".repeat(43)}` });
  await planted.ok("POST", SESSION, ADA);
  expect(planted.cookie).not.toContain("AAAA");
  const before = ada.cookie;
  await ada.ok("POST", SESSION, ADA);
  expect(ada.cookie).not.toBe(before);
  expect(await visit(harness, { cookie: before }).no("GET", "/console/api/sessions")).toBe("signed_out");
});

test("signing out, ending one session, ending all others and ending all sessions take effect at once", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  const [phone, laptop, tablet] = [visit(harness), visit(harness), visit(harness)];
  for (const one of [phone, laptop, tablet]) await one.ok("POST", SESSION, ADA);
  const isIn = async (one: typeof ada) => (await one.ask("GET", "/console/api/sessions")).status === 200;
  const { sessions } = (await phone.ok("GET", "/console/api/sessions")) as { sessions: { id: string; isThis: boolean }[] };
  expect(sessions).toHaveLength(4);
  await ada.ok("DELETE", `/console/api/sessions/${sessions.find(({ isThis }) => isThis)?.id}`);
  expect([await isIn(phone), await isIn(laptop), await isIn(tablet)]).toEqual([false, true, true]);
  await tablet.ok("DELETE", SESSION);
  expect([await isIn(laptop), await isIn(tablet)]).toEqual([true, false]);
  await ada.ok("DELETE", "/console/api/sessions?keep=this");
  expect([await isIn(ada), await isIn(laptop)]).toEqual([true, false]);
  await laptop.ok("POST", SESSION, ADA);
  await ada.ok("DELETE", "/console/api/sessions");
  expect([await isIn(ada), await isIn(laptop)]).toEqual([false, false]);
});

test("a user cannot end a session of another user", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  const ben = await join(harness, ada, { email: "ben@example.com", role: "member" });
  const { sessions } = (await ada.ok("GET", "/console/api/sessions")) as { sessions: { id: string }[] };
  await ben.ask("DELETE", `/console/api/sessions/${sessions[0]?.id}`);
  await ada.ok("GET", "/console/api/sessions");
});

test("a password change requires the old password and ends the other sessions; a reset link ends all sessions", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  const ben = await join(harness, ada, { email: "ben@example.com", role: "member" });
  const other = visit(harness);
  const signIn = { email: "ben@example.com", password: PASSWORD };
  await other.ok("POST", SESSION, signIn);
  const next = "another horse battery";
  expect(await ben.no("POST", "/console/api/me/password", { old: "not that one at all", password: next })).toBe("refused");
  expect(await ben.no("POST", "/console/api/me/password", { old: PASSWORD, password: "short" })).toBe("invalid");
  await ben.ok("POST", "/console/api/me/password", { old: PASSWORD, password: next });
  expect(await other.no("GET", "/console/api/sessions")).toBe("signed_out");
  expect(await visit(harness).no("POST", SESSION, signIn)).toBe("refused");
  await other.ok("POST", SESSION, { ...signIn, password: next });

  const { users } = (await ada.ok("GET", "/console/api/operator/users")) as { users: { id: string; email: string }[] };
  const id = users.find(({ email }) => email === "ben@example.com")?.id;
  const { url } = await ada.ok("POST", `/console/api/operator/users/${id}/reset`);
  const back = visit(harness);
  await back.ok("POST", "/console/api/link/accept", { token: tokenOf(url), password: PASSWORD });
  for (const one of [ben, other]) expect(await one.no("GET", "/console/api/sessions")).toBe("signed_out");
  expect(await back.ok("GET", "/console/api/me")).toMatchObject({ signedIn: { email: "ben@example.com" } });
});

test("disabling a user and removing the operator role take effect on the next request", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  const [ben, cy] = [
    await join(harness, ada, { email: "ben@example.com", role: "member" }),
    await join(harness, ada, { email: "cy@example.com", role: "operator" }),
  ];
  const { users } = (await cy.ok("GET", "/console/api/operator/users")) as { users: { id: string; email: string }[] };
  const idOf = (email: string) => users.find((one) => one.email === email)?.id;
  await ben.ok("GET", "/console/api/sessions");
  await cy.ok("PATCH", `/console/api/operator/users/${idOf("ben@example.com")}`, { disabled: true });
  expect(await ben.no("GET", "/console/api/sessions")).toBe("signed_out");
  await ada.ok("PATCH", `/console/api/operator/users/${idOf("cy@example.com")}`, { role: "viewer" });
  expect(await cy.no("PATCH", `/console/api/operator/users/${idOf("ben@example.com")}`, { disabled: false })).toBe("forbidden");
  // The last operator cannot be disabled.
  expect((await ada.ask("PATCH", `/console/api/operator/users/${idOf("ada@example.com")}`, { disabled: true })).status).toBe(409);
});

test("a member sees the users of the own account and of no other, and a user without an account sees none", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  const { accountId } = harness.tenant;
  const ben = await join(harness, ada, { email: "ben@example.com", role: "member", accountId });
  await join(harness, ada, { email: "al@example.com", role: "viewer", accountId });
  const cy = await join(harness, ada, { email: "cy@example.com", role: "member", accountId });
  await join(harness, ada, { email: "dee@example.com", role: "member" });
  const { users } = (await ada.ok("GET", "/console/api/operator/users")) as { users: { id: string; email: string }[] };
  const { id } = users.find(({ email }) => email === "cy@example.com") ?? { id: "" };
  await ada.ok("PATCH", `/console/api/operator/users/${id}`, { disabled: true });
  expect(await cy.no("GET", "/console/api/team")).toBe("signed_out");
  const team = (await ben.ok("GET", "/console/api/team")) as { account: object; users: { email: string }[] };
  expect(team).toMatchObject({
    account: { id: accountId },
    users: [
      { name: "Ben", email: "al@example.com", role: "viewer" },
      { name: "Ben", email: "ben@example.com", role: "member" },
    ],
  });
  expect(JSON.stringify(team)).not.toMatch(/password|argon2|seenAtMs/);
  const vi = await join(harness, ada, { email: "vi@example.com", role: "viewer" });
  expect(await vi.no("GET", "/console/api/team")).toBe("forbidden");
});

test("sign-up is closed by default, and creates a member with an account without credits when it is enabled", async () => {
  const ask = { email: "dee@example.com", name: "Dee", password: PASSWORD };
  const closed = await open();
  await setUp(closed);
  expect(await visit(closed).no("POST", "/console/api/sign-up", ask)).toBe("forbidden");
  const harness = await open({ env: { GENROUTER_CONSOLE__SIGN_UP: "true" } });
  expect(await visit(harness).no("POST", "/console/api/sign-up", ask)).toBe("forbidden");
  await setUp(harness);
  const dee = visit(harness);
  await dee.ok("POST", "/console/api/sign-up", ask);
  const { signedIn } = (await dee.ok("GET", "/console/api/me")) as { signedIn: { accountId: string; role: string } };
  expect(signedIn.role).toBe("member");
  expect(await harness.store.account(signedIn.accountId)).toMatchObject({ name: "Dee", availableCredits: 0 });
  expect(await visit(harness).no("POST", "/console/api/sign-up", ask)).toBe("conflict");
});

test("the audit log lists operator changes with their principal, filterable, for viewers", async () => {
  const harness = await open();
  const ada = await setUp(harness);
  const viewer = await join(harness, ada, { email: "vi@example.com", role: "viewer" });
  const { accountId } = harness.tenant;
  await ada.ok("POST", `/console/api/keys?account=${accountId}`, {
    ...{ name: "build", scope: "read", expiresAtMs: null, models: null, limits: { day: null, week: null, month: null } },
  });
  type Line = { seq: number; action: string; actor: { name: string }; target: string; detail: object };
  const { lines, before } = (await viewer.ok("GET", "/console/api/operator/audit")) as { lines: Line[]; before: null };
  expect(before).toBeNull();
  expect(lines.map(({ action, actor }) => [action, actor.name])).toEqual([
    ["create-key", "ada@example.com"],
    ["accept-invitation", "vi@example.com"],
    ["invite", "ada@example.com"],
    ["accept-invitation", "ada@example.com"],
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/argon2|"hash"/);
  const mine = (await viewer.ok("GET", "/console/api/operator/audit?actor=vi@example.com")) as { lines: Line[] };
  expect(mine.lines.map(({ seq }) => seq)).toEqual([lines[1]?.seq ?? 0]);
});
