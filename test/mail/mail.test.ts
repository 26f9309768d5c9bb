// Mail over a real SMTP server: who is written to, what happens when the server fails, and wrong settings.
import { afterEach, describe, expect, test } from "bun:test";
import { mailFindings } from "../../src/cli/doctor/mail.ts";
import { readSettings } from "../../src/config/load.ts";
import { hashToken, newId, newToken } from "../../src/domain/ids.ts";
import { requireMailSettings } from "../../src/mail/validate-config.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { SELF_SIGNED } from "../providers/certificate.ts";
import { openReceiver } from "../webhooks/receiver.ts";
import { bodyOf, type MailServer, mailEnv, openMailServer, openSilentServer } from "./server.ts";

const TRUSTED = { ca: SELF_SIGNED.cert, timeoutMs: 2_000 };
const by = { kind: "command", id: "0", name: "root" } as const;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const serverWith = async (...args: Parameters<typeof openMailServer>): Promise<MailServer> => {
  const server = await openMailServer(...args);
  closing.push(server.stop);
  return server;
};
const harnessWith = async (port: number, more: Record<string, string> = {}, mail: object = TRUSTED): Promise<Harness> => {
  const env = { ...mailEnv(port), GENROUTER_WEBHOOKS__ALLOW: "127.0.0.1", ...more };
  const harness = await openHarness({ factor: 0, env, mail });
  closing.push(harness.close);
  return harness;
};
const invite = async (harness: Harness, email = "ada@example.com") =>
  (await harness.components.admin()).inviteUser({ email, role: "operator", accountId: null, accountName: null, by } as never);
/** A user of an account, as an accepted invitation makes it. */
const userOf = async ({ components, clock }: Harness, { accountSeq }: Tenant, email: string): Promise<void> => {
  const [hash, atMs] = [hashToken(newToken()), clock.nowMs()];
  const who = { role: "member", accountSeq, accountName: null, email, userId: null, kind: "invite" } as const;
  await components.post({ mutation: "invite", id: newId("inv"), hash, ...who, expiresAtMs: atMs + 60_000, atMs });
  const session = { id: newId("ses"), hash: hashToken(newToken()), expiresAtMs: atMs + 60_000, agent: "", address: "" };
  const made = await components.post({
    ...{ mutation: "accept-invitation", hash, userId: newId("per"), email, name: "Ada", account: null, session, atMs },
    password: "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA",
  });
  expect(made.kind).toBe("done");
};
const logged = (harness: Harness, event: string) => harness.lines.filter((line) => line.event === event);
const arrived = (harness: Harness, server: MailServer, count = 1) =>
  harness.eventually(async () => server.received.length >= count && server.received, `${count} mails`);

describe("a mail", () => {
  test("of an invitation has the link, over STARTTLS with the sign-in of the settings", async () => {
    const server = await serverWith();
    const harness = await harnessWith(server.port, { GENROUTER_SERVER__PUBLIC_URL: "https://gr.example.com" });
    const { path } = await invite(harness);
    const [mail] = await arrived(harness, server);
    expect(mail).toMatchObject({ from: "mail@example.com", to: ["ada@example.com"], user: "genrouter", isEncrypted: true });
    expect(mail?.text).toContain("Subject: Your invitation to genrouter");
    expect(mail?.text).toContain("Auto-Submitted: auto-generated");
    expect(bodyOf(mail?.text ?? "")).toContain(`https://gr.example.com${path}`);
    await harness.eventually(async () => logged(harness, "mail sent").length === 1);
    expect(JSON.stringify(harness.lines)).not.toContain(path.split("#")[1] ?? "");
  });

  test("of a password reset goes to its user", async () => {
    const server = await serverWith();
    const harness = await harnessWith(server.port);
    await userOf(harness, harness.tenant, "bob@example.com");
    const { path } = await (await harness.components.admin()).resetUser({ user: "bob@example.com", by } as never);
    const [mail] = await arrived(harness, server);
    expect(mail?.to).toEqual(["bob@example.com"]);
    expect(bodyOf(mail?.text ?? "")).toContain(path);
  });

  test("of a low balance goes to the users of the account, at most once a day", async () => {
    const server = await serverWith();
    const harness = await harnessWith(server.port, { GENROUTER_CREDITS__LOW_BALANCE_ALERT_USD: "9" });
    const tenant = await harness.newTenant(901);
    await userOf(harness, tenant, "ada@example.com");
    await userOf(harness, await harness.newTenant(901), "eve@example.com");
    const fall = async () => {
      const move = { mutation: "credit", accountSeq: tenant.accountSeq, kind: "adjust", note: "", reference: null } as const;
      for (const credits of [-100, 100]) await harness.components.post({ ...move, credits, atMs: harness.clock.nowMs() });
    };
    await fall();
    await fall();
    const [mail] = await arrived(harness, server);
    expect(mail?.to).toEqual(["ada@example.com"]);
    expect(bodyOf(mail?.text ?? "")).toContain("8.01 USD are available, less than 9.00 USD");
    harness.clock.skip(86_400_000);
    await fall();
    expect((await arrived(harness, server, 2)).map(({ to }) => to)).toEqual([["ada@example.com"], ["ada@example.com"]]);
  });

  test("of a disabled webhook endpoint names its address and the reason", async () => {
    const server = await serverWith();
    const harness = await harnessWith(server.port);
    const receiver = openReceiver();
    closing.push(receiver.stop);
    receiver.answer(() => new Response("", { status: 410 }));
    await userOf(harness, harness.tenant, "ada@example.com");
    const made = await harness.request("POST", "/v1/webhook_endpoints", { body: { url: receiver.url } });
    await harness.request("POST", `/v1/webhook_endpoints/${made.body.id}/test`);
    const [mail] = await arrived(harness, server);
    expect(mail?.to).toEqual(["ada@example.com"]);
    expect(bodyOf(mail?.text ?? "")).toMatch(new RegExp(`disabled the webhook endpoint ${receiver.url}/\\s+.*410`));
  });
});

describe("a failing server", () => {
  test("that is down is tried again after one and five minutes, and the change itself succeeds", async () => {
    const first = await openMailServer();
    await first.stop();
    const harness = await harnessWith(first.port);
    expect((await invite(harness)).path).toContain("/console/join#");
    await harness.eventually(async () => logged(harness, "mail try failed").length === 1);
    harness.clock.skip(60_000);
    await harness.eventually(async () => logged(harness, "mail try failed").length === 2);
    const server = await serverWith({}, first.port);
    harness.clock.skip(300_000);
    await arrived(harness, server);
    expect(logged(harness, "mail failed")).toEqual([]);
  });

  test("that never answers ends the try after the time limit, and delays no submission", async () => {
    const silent = openSilentServer();
    closing.push(silent.stop);
    const harness = await harnessWith(silent.port, {}, { ...TRUSTED, timeoutMs: 300 });
    await invite(harness);
    expect((await harness.submit("sim-image-1", { prompt: "a kite" })).id).toContain("gen_");
    await harness.eventually(async () => logged(harness, "mail try failed").length === 1);
  });

  test("that rejects a recipient for good is not asked again, and the other mails are sent", async () => {
    const server = await serverWith({
      onRcptTo: ({ address }, _session, answer) =>
        address === "gone@example.com" ? answer(Object.assign(new Error("no such user"), { responseCode: 550 })) : answer(),
    });
    const harness = await harnessWith(server.port);
    await invite(harness, "gone@example.com");
    await invite(harness, "ada@example.com");
    expect((await arrived(harness, server)).map(({ to }) => to)).toEqual([["ada@example.com"]]);
    const [failed] = logged(harness, "mail failed");
    expect(failed?.fields).toMatchObject({ kind: "invitation", reason: expect.stringContaining("no such user") });
    expect(logged(harness, "mail try failed")).toEqual([]);
  });

  test.each<[string, Record<string, string>, object]>([
    ["with another password", { GENROUTER_MAIL__PASSWORD: "wrong" }, TRUSTED],
    ["whose certificate is not trusted", {}, { timeoutMs: 2_000 }],
  ])("%s gets no mail, and is tried again", async (_name, env, mail) => {
    const server = await serverWith();
    const harness = await harnessWith(server.port, env, mail);
    await invite(harness);
    await harness.eventually(async () => logged(harness, "mail try failed").length === 1);
    expect(server.received).toEqual([]);
  });

  test("without STARTTLS never gets the password", async () => {
    let signIns = 0;
    const server = await serverWith({
      ...{ disabledCommands: ["STARTTLS"], allowInsecureAuth: true },
      onAuth: (_auth, _session, answer) => {
        signIns += 1;
        answer(null, { user: "x" });
      },
    });
    const harness = await harnessWith(server.port);
    await invite(harness);
    await harness.eventually(async () => logged(harness, "mail try failed").length === 1);
    expect([signIns, server.received]).toEqual([0, []]);
  });

  test("gives up after two days of failures and logs what is left when the service stops", async () => {
    const down = await openMailServer();
    await down.stop();
    const harness = await harnessWith(down.port);
    await invite(harness);
    for (let tries = 1; tries <= 8; tries += 1) {
      await harness.eventually(async () => logged(harness, "mail try failed").length === tries);
      harness.clock.skip(43_200_000);
    }
    await harness.eventually(async () => logged(harness, "mail failed").length === 1);
    await invite(harness);
    await harness.eventually(async () => logged(harness, "mail try failed").length === 9);
    closing.pop();
    await harness.close();
    expect(logged(harness, "mail failed").map(({ fields }) => fields?.reason)).toEqual([
      expect.stringContaining("ECONNREFUSED"),
      "the service stops",
    ]);
  });
});

test("tls encrypts from the first byte, and none sends without a sign-in", async () => {
  const tls = await serverWith({ secure: true });
  const harness = await harnessWith(tls.port, { GENROUTER_MAIL__SECURITY: "tls" });
  await invite(harness);
  expect((await arrived(harness, tls))[0]).toMatchObject({ isEncrypted: true, user: "genrouter" });

  const plain = await serverWith({ authOptional: true });
  const unsigned = { GENROUTER_MAIL__SECURITY: "none", GENROUTER_MAIL__USER: "", GENROUTER_MAIL__PASSWORD: "" };
  const other = await harnessWith(plain.port, unsigned);
  await invite(other);
  expect((await arrived(other, plain))[0]).toMatchObject({ isEncrypted: false, user: "undefined" });
});

test("sends nothing without settings of mail", async () => {
  const harness = await openHarness();
  closing.push(harness.close);
  await invite(harness);
  expect(harness.lines.filter(({ event }) => event.startsWith("mail"))).toEqual([]);
});

describe("settings", () => {
  test.each<[string, Record<string, string>, string]>([
    ["a sender without a host", { HOST: "" }, "GENROUTER_MAIL__HOST: is missing, so no mail could be sent"],
    ["no sender", { FROM: "" }, "GENROUTER_MAIL__FROM: is missing; set the address that mails come from"],
    [
      "a user without a password",
      { PASSWORD: "" },
      "GENROUTER_MAIL__PASSWORD: is missing; set it, or unset GENROUTER_MAIL__USER",
    ],
    ["a password without a user", { USER: "" }, "GENROUTER_MAIL__USER: is missing; set it, or unset GENROUTER_MAIL__PASSWORD"],
    [
      "an unencrypted password",
      { SECURITY: "none", HOST: "smtp.example.com" },
      "none would send the password to smtp.example.com",
    ],
  ])("with %s stop the start with one line", (_name, changes, message) => {
    const changed = Object.fromEntries(Object.entries(changes).map(([name, value]) => [`GENROUTER_MAIL__${name}`, value]));
    const settings = readSettings(mailEnv(25, changed));
    expect(() => requireMailSettings(settings)).toThrow(message);
    expect(() => requireMailSettings(readSettings(mailEnv(25)))).not.toThrow();
  });

  test.each([
    ["HOST", "smtp.example.com:25"],
    ["PORT", "0"],
    ["SECURITY", "ssl"],
    ["FROM", "no address"],
  ])("reject %s=%s and name the setting", (name, value) => {
    expect(() => readSettings({ ...mailEnv(25), [`GENROUTER_MAIL__${name}`]: value })).toThrow(`GENROUTER_MAIL__${name}: `);
  });
});

test("doctor reports a server that works, one with another password, and none", async () => {
  const server = await serverWith();
  const findings = (more: Record<string, string> = {}) => mailFindings(readSettings(mailEnv(server.port, more)), TRUSTED);
  expect(await findings()).toMatchObject([{ level: "ok", area: "mail" }]);
  expect(await findings({ GENROUTER_MAIL__PASSWORD: "wrong" })).toMatchObject([
    { level: "fault", says: expect.stringContaining("cannot be used") },
  ]);
  expect(await mailFindings(readSettings({}))).toEqual([]);
});
