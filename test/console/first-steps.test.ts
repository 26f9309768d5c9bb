// The first steps of a new account: each is derived from what the account has, for its own users.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { FirstSteps } from "../../src/console/credits-dto.ts";
import { hashApiKey, hashToken, newApiKey, newId, newToken } from "../../src/domain/ids.ts";
import { type Harness, openHarness } from "../harness.ts";
import { commitOne, NOW_MS, openAccount, succeed, topUp } from "../store/fixture.ts";
import { openVisitor, type Visitor } from "./signed-in.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

const PATH = "/console/api/first-steps";
const stepsOf = async (who: Visitor): Promise<FirstSteps> => (await who.ask("GET", PATH)).reported as unknown as FirstSteps;
const NONE = { hasGenerated: false, hasCredits: false, hasKey: false, hasColleague: false, mayInvite: false };
const openEmpty = async () => {
  const id = newId("acc");
  const made = await commitOne(harness.store, { mutation: "create-account", id, name: "Ada", atMs: NOW_MS });
  return { id, accountSeq: made.kind === "done" ? (made.seq ?? 0) : 0 };
};

test("a new account has done nothing, and each step is done when the account has what it leads to", async () => {
  const { store } = harness;
  const { accountSeq } = await openEmpty();
  const ada = await openVisitor(harness, "member", { accountSeq });
  expect(await stepsOf(ada)).toEqual(NONE);
  // The hidden key of the playground is not a key that a user created.
  await store.commit([{ mutation: "make-console-key", accountSeq, id: newId("key"), atMs: NOW_MS }]);
  expect(await stepsOf(ada)).toEqual(NONE);
  await topUp(store, accountSeq, 1000);
  expect(await stepsOf(ada)).toEqual({ ...NONE, hasCredits: true });
  const key = {
    id: newId("key"),
    scope: "generate",
    name: "laptop",
    hash: hashApiKey(newApiKey("test")),
    start: "gr_test_abcd",
  } as const;
  await store.commit([{ mutation: "create-key", accountSeq, ...key, atMs: NOW_MS }]);
  expect(await stepsOf(ada)).toEqual({ ...NONE, hasCredits: true, hasKey: true });
  await openVisitor(harness, "member", { accountSeq });
  expect(await stepsOf(ada)).toEqual({ ...NONE, hasCredits: true, hasKey: true, hasColleague: true });
});

test("a generation that succeeded is the first picture, also after it has spent all credits", async () => {
  const { store } = harness;
  const account = await openAccount(store, 110);
  await succeed(store, account);
  await commitOne(store, {
    ...{
      mutation: "credit",
      accountSeq: account.seq,
      kind: "adjust",
      credits: -35,
      note: "",
      reference: null,
      atMs: NOW_MS + 9000,
    },
  });
  const ada = await openVisitor(harness, "member", { accountSeq: account.seq });
  expect(await stepsOf(ada)).toMatchObject({ hasGenerated: true, hasCredits: true });
});

test("an open invitation counts as an invited colleague until it is withdrawn, and only operators may invite", async () => {
  const { store, clock } = harness;
  const { accountSeq } = await openEmpty();
  const ada = await openVisitor(harness, "operator", { accountSeq });
  expect(await stepsOf(ada)).toEqual({ ...NONE, mayInvite: true });
  const id = newId("inv");
  const atMs = clock.nowMs();
  await store.commit([
    {
      ...{ mutation: "invite", id, hash: hashToken(newToken()), kind: "invite", role: "member", accountSeq, accountName: null },
      ...{ email: "ben@example.com", userId: null, expiresAtMs: atMs + 60_000, atMs },
    },
  ]);
  expect(await stepsOf(ada)).toMatchObject({ hasColleague: true });
  await store.commit([{ mutation: "withdraw-invitation", invitationId: id, atMs }]);
  expect(await stepsOf(ada)).toMatchObject({ hasColleague: false });
});

test("shows the steps of the own account only, and none to a user without an account", async () => {
  const [{ accountSeq }, rich] = [await openEmpty(), await openAccount(harness.store, 1000)];
  const ada = await openVisitor(harness, "operator", { accountSeq });
  expect((await ada.ask("GET", `${PATH}?account=${rich.id}`)).reported).toMatchObject({ hasCredits: false });
  expect((await (await openVisitor(harness, "viewer", null)).ask("GET", PATH)).status).toBe(403);
});
