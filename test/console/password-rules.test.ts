// Rules for a new password: common, repetitive and sequential ones and those with the user's name are refused with a sentence.
import { afterAll, describe, expect, test } from "bun:test";
import { passwordFault } from "../../src/console/password-rules.ts";
import { type Harness, openHarness } from "../harness.ts";
import { join, PASSWORD, setUp, setUpToken, visit } from "./visitor.ts";

const harnesses: Harness[] = [];
const open = async (): Promise<Harness> => {
  const harness = await openHarness({ factor: 0, env: { GENROUTER_CONSOLE__SIGN_UP: "true" } });
  harnesses.push(harness);
  return harness;
};
afterAll(async () => {
  for (const harness of harnesses) await harness.close();
});

const EMAIL = "grace.hopper+test@example.com";

describe("a new password", () => {
  test.each([
    ["", "use 12 to 200 characters"],
    ["elevenchars", "use 12 to 200 characters"],
    ["x".repeat(201), "use 12 to 200 characters"],
    // Eleven characters, each of two UTF-16 units.
    ["🌊".repeat(11), "use 12 to 200 characters"],
    ["passwordpassword", "repeats the same characters"],
    ["Kite-Kite-Kite-", "repeats the same characters"],
    ["aaaaaaaaaaaaa", "repeats the same characters"],
    ["aabbccaabbccaa", "repeats the same characters"],
    ["............!", "repeats the same characters"],
    ["Password2026!", "common password"],
    ["p a s s w o r d 1 2 3 4", "common password"],
    ["qwertyuiop[]12", "common password"],
    ["1q2w3e4r5t6y", "common password"],
    ["9876543210123456", "common password"],
    ["zyxwvutsrqponm", "common password"],
    ["LetMeIn-LetMeIn-2026", "common password"],
    ["genrouter-admin", "common password"],
    ["Peanut Butter", "common password"],
    ["hopper in the garden", "name in your e-mail address"],
    ["my GRACE under fire", "name in your e-mail address"],
    [EMAIL, "name in your e-mail address"],
  ])("%j is refused: %s", (password, reason) => {
    expect(passwordFault(password, EMAIL)).toContain(reason);
  });

  test.each([
    PASSWORD,
    "a long enough password",
    "482915730284",
    "ünïcödé wörter hier",
    "漢字仮名交じり文を書く人達",
    "x7#Kq9!vTz2@",
    "correct horse battery staple",
    `${"x".repeat(189)}abracadabra`,
  ])("%j is accepted", (password) => {
    expect(passwordFault(password, EMAIL)).toBeUndefined();
  });

  test("may contain a name of three letters, because many words do", () => {
    expect(passwordFault("canada maple syrup", "ada@example.com")).toBeUndefined();
    expect(passwordFault("adaadaadaada", "ada@example.com")).toContain("repeats the same characters");
  });

  test("of 200 characters is judged in less than a second", () => {
    const startedMs = performance.now();
    for (let n = 0; n < 20; n++) passwordFault("1q2w3e4r5t".repeat(20).slice(0, 199) + n, EMAIL);
    expect(performance.now() - startedMs).toBeLessThan(1000);
  });
});

test("the set-up link, an invitation, a sign-up, a reset and a change of the password refuse a common password", async () => {
  const harness = await open();
  const weak = { name: "Ada", email: "ada@example.com", password: "passwordpassword" };
  const token = await setUpToken(harness);
  const answer = await visit(harness).ask("POST", "/console/api/link/accept", { token, ...weak });
  expect([answer.status, answer.body]).toEqual([
    400,
    { error: { code: "invalid", message: expect.stringMatching(/^Password: it repeats the same characters\. / as never) } },
  ] as never);
  // The link can still be used.
  const ada = await setUp(harness);
  const { url } = await ada.ok("POST", "/console/api/operator/invitations", {
    ...{ email: "ben@example.com", role: "viewer", accountId: null, accountName: null },
  });
  const invited = { token: String(url).split("#")[1], name: "Ben", password: "qwertyuiop12" };
  expect(await visit(harness).no("POST", "/console/api/link/accept", invited)).toBe("invalid");
  const signUp = { email: "dorothy@example.com", name: "Dorothy", password: "dorothy in oz" };
  expect(await visit(harness).no("POST", "/console/api/sign-up", signUp)).toBe("invalid");
  expect(await ada.no("POST", "/console/api/me/password", { old: PASSWORD, password: "adaadaadaada" })).toBe("invalid");
  const cleo = await join(harness, ada, { email: "cleopatra@example.com", role: "member" });
  const { users } = (await ada.ok("GET", "/console/api/operator/users")) as { users: { id: string; email: string }[] };
  const id = users.find(({ email }) => email === "cleopatra@example.com")?.id;
  const reset = await ada.ok("POST", `/console/api/operator/users/${id}/reset`);
  const answered = { token: String(reset.url).split("#")[1], password: "Cleopatra 2026 !" };
  expect(await visit(harness).no("POST", "/console/api/link/accept", answered)).toBe("invalid");
  // A refused reset leaves the session and the password as they were.
  await cleo.ok("GET", "/console/api/sessions");
  await visit(harness).ok("POST", "/console/api/session", { email: "cleopatra@example.com", password: PASSWORD });
});
