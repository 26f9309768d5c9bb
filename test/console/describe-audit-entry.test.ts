// Sentences of audit entries: names instead of ids, money as money, and details that no sentence contains.
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import type { AuditRow } from "../../src/store/user-reads.ts";
import { describeAuditEntry } from "../../web/console/users/describe-audit-entry.ts";
import { loadOperatorWords, operatorWords } from "../../web/words/operator-words.ts";
import { LANGUAGES, setLanguage } from "../../web/words/words.ts";

afterEach(async () => {
  await setLanguage("en");
  await loadOperatorWords();
});

const NAMES = {
  acc_1: { kind: "account", name: "acme", accountId: "acc_1" },
  per_1: { kind: "user", name: "Ada", accountId: null },
  per_2: { kind: "user", name: "Ben", accountId: "acc_1" },
  key_1: { kind: "key", name: "laptop", accountId: "acc_1" },
  pur_1: { kind: "purchase", name: "pur_1", accountId: "acc_1" },
} as const;
const ADA = { kind: "user", id: "per_1", name: "ada@example.com" } as const;
const STRIPE = { kind: "service", id: "stripe", name: "Stripe" } as const;
const entry = (action: string, target: string | null, detail: AuditRow["detail"], actor: AuditRow["actor"] = ADA): AuditRow => ({
  ...{ seq: 1, atMs: 0, actor, action, target, detail },
});
const described = (...of: Parameters<typeof entry>) => {
  const { sentence, details } = describeAuditEntry(entry(...of), NAMES);
  return { text: sentence.map(({ text }) => text).join(""), links: sentence.flatMap(({ href }) => href ?? []), details };
};

const PAID = { accountId: "acc_1", credits: 2500, sessionId: "cs_1", paymentIntent: "pi_1", transferredCredits: 2500 };
const BACK = { accountId: "acc_1", id: "re_1", state: "taken", credits: 700, paymentIntent: "pi_1", transferredCredits: -700 };

test.each<[string, Parameters<typeof entry>]>([
  [
    "Ada granted acme $100.00: “welcome”",
    ["credit", "acc_1", { kind: "topup", credits: 10_000, note: "welcome", transferredCredits: 10_000 }],
  ],
  [
    "Ada took $5.00 back from acme: “a refund”",
    ["credit", "acc_1", { kind: "adjust", credits: -700, note: "a refund", transferredCredits: -500 }],
  ],
  [
    "Ada adjusted the credits of acme, but nothing was transferred: “again”",
    ["credit", "acc_1", { credits: -700, note: "again", transferredCredits: 0 }],
  ],
  [
    "Ada opened a purchase of $2,500.00 for acme",
    ["open-purchase", "pur_1", { accountId: "acc_1", credits: 250_000, provider: "stripe" }],
  ],
  ["Stripe paid $25.00 for acme", ["pay-purchase", "pur_1", PAID, STRIPE]],
  [
    "Stripe reported a payment of 99 EUR that does not match the purchase of acme; nothing was added",
    ["mismatch-purchase", "pur_1", { ...PAID, credits: 9900, currency: "eur", transferredCredits: 0 }, STRIPE],
  ],
  ["Stripe reported a refund of $7.00 for acme: taken back", ["note-refund", "pur_1", BACK, STRIPE]],
  ["Stripe reported a dispute of $7.00 for acme: under inquiry", ["note-dispute", "pur_1", { ...BACK, state: "asked" }, STRIPE]],
  ["Ada created the key laptop for acme", ["create-key", "key_1", { scope: "generate", name: "laptop", start: "gr_live_a" }]],
  ["Ada revoked the key laptop of acme", ["revoke-key", "key_1", {}]],
  [
    "The key laptop of acme was used from a new network, 192.0.2.0/24",
    ["note-key-network", "key_1", { address: "192.0.2.7", network: "192.0.2.0/24" }],
  ],
  ["Ada paused acme", ["set-account", "acc_1", { paused: true }]],
  ["Ada changed the limits of acme", ["set-account", "acc_1", { paused: false, inProgressLimit: 5 }]],
  ["Ada set the low-balance alert of acme to $7.00", ["set-low-balance", "acc_1", { credits: 700 }]],
  ["Ada turned off the low-balance alert of acme", ["set-low-balance", "acc_1", { credits: 0 }]],
  ["Ada set the low-balance alert of acme to the default", ["set-low-balance", "acc_1", { credits: null }]],
  ["Ada set the spend alert of acme to $7.00 a month", ["set-spend-alert", "acc_1", { credits: 700 }]],
  ["Ada turned off the spend alert of acme", ["set-spend-alert", "acc_1", { credits: null }]],
  ["Ada disabled the route sim-image-1/fal: “too slow”", ["switch-route", "sim-image-1/fal", { reason: "too slow" }]],
  ["Ada enabled the route sim-image-1/fal", ["switch-route", "sim-image-1/fal", { reason: null }]],
  ["Ada made Ben a viewer", ["set-user", "per_2", { role: "viewer" }]],
  ["Ada disabled the user Ben", ["set-user", "per_2", { disabled: true }]],
  [
    "Ada invited ben@example.com as a member",
    [
      "invite",
      "inv_1",
      { kind: "invite", role: "member", email: "ben@example.com", userId: null, accountName: "acme", expiresAtMs: 1 },
    ],
  ],
  [
    "Ada created a password reset link for Ben",
    ["invite", "inv_1", { kind: "reset", role: "member", email: null, userId: "per_2", expiresAtMs: 1 }],
  ],
  [
    "root (command line) created the link for the first operator",
    ["invite", "inv_1", { kind: "setup", role: "operator" }, { kind: "command", id: "root", name: "root" }],
  ],
  ["Ada viewed the generation, with its prompt, of gen_1", ["note-look", "gen_1", { what: "generation" }]],
  ["Ada viewed the list of generations, with prompts, of all accounts", ["note-look", null, { what: "generations" }]],
  [
    "Ada settled the parked generation gen_1: “seen at the provider”",
    ["decide-generation", "gen_1", { decision: "settle", attempt: 1, reason: "seen at the provider" }],
  ],
  [
    "Sign-ins as Ben were rejected: 12 wrong passwords and 3 throttled attempts, from 2 networks",
    [
      "note-refused-sign-ins",
      "per_2",
      { wrong: 12, throttled: 3, networks: 2 },
      { kind: "service", id: "genrouter", name: "sign-in" },
    ],
  ],
  ["Ada started a backup", ["note-backup", null, {}]],
  ["Ada: future-change acme", ["future-change", "acc_1", {}]],
])("%s", (sentence, of) => {
  expect(described(...of).text).toBe(sentence);
});

test("links the account, the key and the generation that a sentence names", () => {
  expect(described("create-key", "key_1", { name: "laptop" }).links).toEqual([
    "/console/keys?account=acc_1",
    "/console/operator/accounts/acc_1",
  ]);
  expect(described("expire-files", "gen_1", {}).links).toEqual(["/console/generations/gen_1"]);
});

test("lists details in words, without JSON, times in milliseconds or amounts in credits", () => {
  const { details } = described("set-key", "key_1", {
    ...{
      limits: { day: 500, week: null, month: 5000 },
      expiresAtMs: Date.UTC(2026, 10, 25, 12),
      models: ["sim-image-1", "kokoro"],
    },
  });
  expect(details).toEqual([
    { name: "Limits", text: "day: $5.00, month: $50.00" },
    { name: "Expires", text: expect.stringContaining("2026") },
    { name: "Models", text: "sim-image-1, kokoro" },
    { name: "Id", text: "key_1" },
  ]);
  expect(described("rotate-key", "key_1", { id: "key_2", overlapMs: 3_600_000 }).details).toContainEqual({
    name: "Old one works for",
    text: "60 min",
  });
  // The reference of a request, and what the sentence says already, are left out.
  const granted = { kind: "topup", credits: 100, note: "x", reference: "console acc_1 f00", transferredCredits: 100 };
  expect(described("credit", "acc_1", granted).details).toEqual([{ name: "Id", text: "acc_1" }]);
});

/** The mutations whose entries have a rule, read from the source, because no code needs the list. */
const auditedActions = async (): Promise<string[]> => {
  const source = await Bun.file(join(import.meta.dir, "../../src/store/sql/audit.ts")).text();
  const rules = source.slice(source.indexOf("const AUDITED"));
  return [...rules.matchAll(/^ {2}"?([a-z][\w-]*)"?: \{/gm)].map(([, action = ""]) => action);
};

test("every audited action has a sentence and a kind, in every language", async () => {
  const actions = await auditedActions();
  expect(actions).toContain("note-backup");
  expect(actions.length).toBeGreaterThan(30);
  for (const language of ["en", "de"] as const) {
    await setLanguage(language);
    await loadOperatorWords();
    const { kinds, sentences } = operatorWords.audit;
    for (const action of actions) {
      expect([language, action, kinds[action as keyof typeof kinds]]).toEqual([language, action, expect.any(String)]);
      const { text } = described(action, "acc_1", { kind: "setup", decision: "retry" });
      expect([language, action, text]).toEqual([language, action, expect.not.stringMatching(/\{|\}|undefined/)]);
    }
    expect(Object.keys(sentences).length).toBeGreaterThan(50);
  }
  expect(Object.keys(LANGUAGES)).toEqual(["en", "de"]);
});
