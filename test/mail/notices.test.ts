// Notices of accounts: how many are sent, what goes first, and that a full queue or an unavailable store loses none.
import { afterEach, expect, test } from "bun:test";
import { createNotifications } from "../../src/mail/notifications.ts";
import { createMailQueue } from "../../src/mail/queue.ts";
import type { Mail } from "../../src/mail/smtp.ts";
import { DatabaseUnavailable } from "../../src/store/errors.ts";
import type { UserRow } from "../../src/store/user-reads.ts";
import { testClock } from "../clock.ts";

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const settle = () => new Promise((turn) => setImmediate(turn));
let clock = testClock();
afterEach(() => clock.stop());

/** @param users the number of users of each account, by row number of the account */
const open = (users: Record<number, number>) => {
  clock = testClock();
  const sent: Mail[] = [];
  const lines: { event: string; fields: object }[] = [];
  const server = { held: undefined as Promise<void> | undefined };
  const store = { isUnavailable: false };
  const log = (event: string, fields: object = {}) => void lines.push({ event, fields });
  const queue = createMailQueue({
    ...{ clock, log },
    send: async (mail) => {
      await server.held;
      sent.push(mail);
      return { kind: "sent" };
    },
  });
  const rows = Object.entries(users).flatMap(([account, count]) =>
    Array.from({ length: count }, (_, n) => ({
      accountSeq: Number(account),
      email: `${n}@${account}.example`,
      disabledAtMs: null,
    })),
  );
  const faults: unknown[] = [];
  const notifications = createNotifications({
    ...{ clock, log, queue, baseUrl: () => "https://gr.example.com", failed: (fault: unknown) => void faults.push(fault) },
    reads: {
      users: async () => {
        if (store.isUnavailable) throw new DatabaseUnavailable("no connection");
        return rows as unknown as UserRow[];
      },
    },
  });
  const disable = (accountSeq: number, n: number, url = "https://example.com/hook") =>
    notifications.endpointDisabled({ accountSeq, id: `whe_${accountSeq}_${n}`, url, reason: "The endpoint returned 410 Gone." });
  const fall = (accountSeq: number) =>
    notifications.balanceFell({ accountSeq, availableCredits: 1, thresholdCredits: 2, deliveries: [] });
  const spend = (accountSeq: number, alertCredits: number, monthDay = 20_758) =>
    notifications.spendReached({ accountSeq, monthDay, spentCredits: 1234, alertCredits });
  const invite = () =>
    notifications.linkMade({ kind: "invite", email: "new@example.com", path: "/console/join#x", expiresAtMs: 0 });
  /** Holds all mails until the returned function is called. */
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    server.held = promise;
    return resolve;
  };
  const recipients = () => sent.map(({ to }) => to);
  return { sent, lines, queue, notifications, store, faults, disable, fall, spend, invite, hold, recipients };
};

test("mails one notice for an endpoint and day, and 20 for the endpoints of an account and day", async () => {
  const { sent, disable } = open({ 1: 1, 2: 1 });
  for (let n = 0; n < 30; n += 1) disable(1, 0);
  await settle();
  expect(sent).toHaveLength(1);
  for (let n = 0; n < 30; n += 1) disable(1, n);
  disable(2, 0);
  await settle();
  expect(sent.map(({ to }) => to.split("@")[1])).toEqual([...Array(20).fill("1.example"), "2.example"]);
  clock.skip(DAY_MS);
  disable(1, 0);
  await settle();
  expect(sent).toHaveLength(22);
});

test("shows the address of an endpoint as one line without spaces, at most 200 characters of it", async () => {
  const { sent, disable } = open({ 1: 1 });
  disable(1, 0, "https://example.com/a b\nYour account was closed");
  disable(1, 1, `https://example.com/${"x".repeat(2000)}`);
  await settle();
  expect(sent[0]?.text).toContain("the webhook endpoint https://example.com/a%20bYour%20account%20was%20closed\n\nThe endpoint");
  expect(sent[0]?.text).toContain("410 Gone. Its events");
  expect(sent[1]?.text).toContain(`${"x".repeat(180)}…\n`);
});

test("sends a link before the notices that wait", async () => {
  const { disable, fall, invite, hold, recipients } = open({ 1: 2 });
  const release = hold();
  fall(1);
  disable(1, 0);
  await settle();
  invite();
  release();
  await settle();
  expect(recipients()).toEqual(["0@1.example", "new@example.com", "1@1.example", "0@1.example", "1@1.example"]);
});

test("takes no more notices of an account while 50 of its mails wait, and loses none", async () => {
  const { disable, fall, hold, recipients, lines } = open({ 1: 60, 2: 1 });
  const release = hold();
  fall(1);
  await settle();
  disable(1, 0);
  disable(2, 0);
  await settle();
  release();
  await settle();
  expect(recipients()).toHaveLength(61);
  expect(recipients().at(-1)).toBe("0@2.example");
  clock.skip(MINUTE_MS);
  await settle();
  expect(recipients()).toHaveLength(121);
  expect(lines.filter(({ event }) => event === "mail failed")).toEqual([]);
});

test("a full queue takes links, and takes the notice of a low balance when it has space", async () => {
  const accounts = Array.from({ length: 21 }, (_, n) => n + 1);
  const { fall, invite, hold, recipients, lines } = open(Object.fromEntries(accounts.map((account) => [account, 51])));
  const release = hold();
  for (const account of accounts) fall(account);
  await settle();
  invite();
  release();
  await settle();
  expect(recipients().filter((to) => to.endsWith("@21.example"))).toEqual([]);
  expect(recipients()[1]).toBe("new@example.com");
  clock.skip(MINUTE_MS);
  await settle();
  expect(recipients()).toHaveLength(21 * 51 + 1);
  expect(lines.filter(({ event }) => event === "mail failed")).toEqual([]);
});

test("sends a notice once when the store is available again", async () => {
  const { sent, fall, store, faults } = open({ 1: 1 });
  store.isUnavailable = true;
  fall(1);
  await settle();
  store.isUnavailable = false;
  clock.skip(MINUTE_MS);
  await settle();
  clock.skip(MINUTE_MS);
  await settle();
  expect([sent.length, faults.length]).toEqual([1, 1]);
});

test("a stop gives up and logs the notices that wait", async () => {
  const { sent, fall, store, queue, notifications, lines } = open({ 1: 1 });
  store.isUnavailable = true;
  fall(1);
  await settle();
  notifications.stop();
  await queue.stop();
  fall(1);
  store.isUnavailable = false;
  clock.skip(MINUTE_MS);
  await settle();
  expect(sent).toEqual([]);
  expect(lines.filter(({ event }) => event === "mail failed")).toMatchObject([
    { fields: { kind: "low_balance", reason: "the service stops" } },
  ]);
});

test("mails the spend of a month with the amount that it has reached to each user of the account, once for an amount and day", async () => {
  const { sent, spend } = open({ 1: 2, 2: 1 });
  spend(1, 1000);
  spend(1, 1000);
  await settle();
  expect(sent.map(({ to, subject }) => [to, subject])).toEqual(
    ["0@1.example", "1@1.example"].map((to) => [to, "Your genrouter spend has reached your alert"]),
  );
  expect(sent[0]?.text).toContain(
    "The generations of 2026-11 (UTC) have cost 12.34 USD so far. Your alert is set to 10.00 USD a month.",
  );
  expect(sent[0]?.text).toContain("https://gr.example.com/console/usage");
  spend(1, 1200);
  spend(2, 1000);
  await settle();
  expect(sent).toHaveLength(5);
  // The next month can begin within the same day.
  spend(2, 1000, 20_788);
  await settle();
  expect(sent).toHaveLength(6);
});
