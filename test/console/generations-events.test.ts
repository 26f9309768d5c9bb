// Events of generations and balances: sent after the commit, to pages of the account, while the session is valid.
// Without subscribers, no commit is observed.
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { GenerationDetail, GenerationDto } from "../../src/console/generations-dto.ts";
import { createCommitListeners } from "../../src/generations/commit-listeners.ts";
import { type Harness, openHarness } from "../harness.ts";
import { BUYER } from "../store/purchases.ts";
import { type Heard, listenTo } from "./event-listener.ts";
import { type MakingStage, openMakingStage } from "./generations-fixture.ts";
import { setUp } from "./visitor.ts";

let harness: Harness;
let stage: MakingStage;
beforeEach(async () => {
  harness = await openHarness();
  stage = openMakingStage(harness);
});
afterEach(async () => {
  await stage.stop();
  await harness.close();
});

/** Subscribes to events and keeps them. */
const listen = (as = "member", query = "") => listenTo(stage.url, `who=${as}`, query);
let keys = 0;
const make = async (as = "member") => {
  keys += 1;
  const body = { model: "vidmodel-2.0-fast", input: { prompt: "a kite", resolution: "480p", duration: 4 } };
  const made = await stage.ask<GenerationDto>("POST", "/generations", { body, as, headers: { "idempotency-key": `k${keys}` } });
  return made.body.id;
};
const statuses = (heard: readonly Heard[], id: string) =>
  heard.flatMap(({ event, reported }) => (event === "generation" && reported.id === id ? [reported.status] : []));

test("sends the events of a generation and its balance from admission to success, after they are committed", async () => {
  const { heard, leave } = await listen();
  const id = await make();
  const last = await harness.eventually(
    () => heard.find(({ reported }) => reported.id === id && reported.status === "succeeded"),
    "the success event",
  );
  expect(last.reported).toMatchObject({ attempts: 1, costCredits: 20 });
  expect((await stage.ask<GenerationDetail>("GET", `/generations/${id}`)).body.status).toBe("succeeded");
  expect(statuses(heard, id)[0]).toBe("queued");
  expect(statuses(heard, id)).toContain("running");
  await harness.eventually(
    () =>
      heard.some(
        ({ event, reported }) => event === "balance" && reported.availableCredits === 99_980 && reported.heldCredits === 0,
      ),
    "the balance",
  );
  const { accountId } = harness.tenant;
  expect(heard).toContainEqual({
    event: "balance",
    reported: { accountId, availableCredits: 99_972, heldCredits: 28, owedCredits: 0, paused: false },
  });
  leave();
});

test("sends events when a purchase is paid, when a dispute pauses the account and when the account is reopened", async () => {
  const { accountId, accountSeq } = harness.tenant;
  const { heard, leave } = await listen();
  const { purchaseId } = await harness.components.checkout.buy({ accountId, by: BUYER, usd: 10 });
  await harness.components.checkout.endTest(purchaseId, "pay", BUYER);
  const states = () =>
    heard.flatMap(({ event, reported }) => (event === "purchase" && reported.id === purchaseId ? [reported.state] : []));
  await harness.eventually(() => states().at(-1) === "paid", "the payment");
  const adjust = {
    mutation: "credit",
    accountSeq,
    kind: "adjust",
    note: "",
    reference: null,
    atMs: harness.clock.nowMs(),
  } as const;
  await harness.components.post({ ...adjust, credits: -101_000 });
  const paymentIntent = `test-${purchaseId}`;
  const dispute = {
    mutation: "note-reversal",
    id: "dp_1",
    kind: "dispute",
    paymentIntent,
    credits: 1000,
    state: "taken",
  } as const;
  await harness.components.post({ ...dispute, by: BUYER, reportedAtMs: harness.clock.nowMs(), atMs: harness.clock.nowMs() });
  const balances = () => heard.flatMap(({ event, reported }) => (event === "balance" ? [reported] : []));
  await harness.eventually(() => balances().at(-1)?.paused === true, "the paused account");
  expect(balances().at(-1)).toMatchObject({ accountId, availableCredits: 0, owedCredits: 1000 });
  await harness.components.post({ mutation: "set-account", accountSeq, paused: false });
  await harness.eventually(() => balances().at(-1)?.paused === false, "the reopened account");
  leave();
});

test("responds to HEAD on the event stream without a subscription", async () => {
  const ada = await setUp(harness);
  const { status, headers } = await fetch(`${harness.url}/console/api/events`, {
    method: "HEAD",
    headers: { cookie: ada.cookie ?? "" },
    signal: AbortSignal.timeout(3_000),
  });
  expect([status, headers.get("content-type")]).toEqual([200, "text/event-stream"]);
});

test("a member receives no events of another account; an operator who subscribes to all accounts receives both", async () => {
  stage.signIn("other", "member", await harness.newTenant());
  stage.signIn("op", "operator", null);
  const [mine, all] = [await listen(), await listen("op", "?account=*")];
  const [nodeUrl, theirs] = [await make(), await make("other")];
  await Promise.all([
    harness.until(nodeUrl),
    harness.eventually(() => statuses(all.heard, theirs).includes("succeeded"), "the success of the other's generation"),
  ]);
  await harness.eventually(() => statuses(mine.heard, nodeUrl).includes("succeeded"), "the success event");
  expect(mine.heard.some(({ reported }) => reported.id === theirs)).toBe(false);
  expect(statuses(all.heard, nodeUrl)).toContain("succeeded");
  expect(all.heard.some(({ event }) => event === "balance")).toBe(false);
  expect(JSON.stringify(all.heard)).not.toMatch(/replicate|seedance/);
  mine.leave();
  all.leave();
});

test("a user who views another account receives the generations of that account only, and both balances", async () => {
  const other = await harness.newTenant();
  stage.signIn("op", "operator", harness.tenant);
  stage.signIn("other", "member", other);
  const { heard, leave } = await listen("op", `?account=${other.accountId}`);
  const hears = (accountId: string) =>
    heard.some(({ event, reported }) => event === "balance" && reported.accountId === accountId);
  const [nodeUrl, theirs] = [await make(), await make("other")];
  await harness.eventually(
    () => statuses(heard, theirs).includes("succeeded") && hears(other.accountId),
    "the success of the other's generation",
  );
  await harness.until(nodeUrl);
  await harness.eventually(() => hears(harness.tenant.accountId), "the user's own balance");
  expect(statuses(heard, nodeUrl)).toEqual([]);
  const members = await listen("other");
  await harness.until(await make());
  const last = await make("other");
  await harness.eventually(() => statuses(members.heard, last).includes("succeeded"), "the success event");
  await harness.eventually(() => members.heard.some(({ event }) => event === "balance"), "its balance");
  expect(members.heard.filter(({ event, reported }) => event === "balance" && reported.accountId !== other.accountId)).toEqual(
    [],
  );
  leave();
  members.leave();
});

test("a stream ends within one ping after sign-out, and the last stream removes the commit listener", async () => {
  expect(harness.components.watch.committed).toBeNull();
  const { over } = await listen();
  expect(harness.components.watch.committed).not.toBeNull();
  stage.signOut("member");
  harness.clock.skip(20_000);
  await over;
  expect(harness.components.watch.committed).toBeNull();
});

test("limits the streams of a user, and frees a place when a page is closed", async () => {
  stage.signIn("other", "member", await harness.newTenant());
  const open = await Promise.all(Array.from({ length: 30 }, () => listen()));
  const knock = (as: string) => stage.ask<{ error: { code: string } }>("GET", "/events", { as });
  const { status, body } = await knock("member");
  expect([status, body.error.code]).toEqual([429, "throttled"]);
  const theirs = await listen("other");
  open[0]?.leave();
  await harness.eventually(async () => {
    const again = await fetch(`${stage.url}/console/api/events`, { headers: { cookie: "who=member" } });
    await again.body?.cancel();
    return again.status === 200;
  }, "space for another");
  for (const { leave } of [...open, theirs]) leave();
});

test("an open event stream does not extend its session", async () => {
  const ada = await setUp(harness);
  const { body } = await fetch(`${harness.url}/console/api/events`, { headers: { cookie: ada.cookie ?? "" } });
  const reader = body?.getReader();
  await reader?.read();
  await harness.clock.skip(6 * 86_400_000);
  await reader?.read();
  await harness.clock.skip(2 * 86_400_000);
  expect(await ada.no("GET", "/console/api/sessions")).toBe("signed_out");
  await reader?.cancel();
});

test("removes the subscription of a page that is closed", async () => {
  const { leave, over } = await listen();
  leave();
  await over;
  await harness.eventually(() => harness.components.watch.committed === null, "no subscription");
});

test("a drain does not wait for event streams", async () => {
  const { over } = await listen();
  await harness.components.drain(1000);
  await over;
});

test("several commit listeners can be set at once and removed independently", () => {
  const whole = { committed: null as ((mutation: never, outcome: never) => void) | null };
  const place = createCommitListeners(whole as never);
  const seen: string[] = [];
  const [one, two] = [place(), place()];
  one.committed = () => void seen.push("one");
  two.committed = () => void seen.push("two");
  whole.committed?.(0 as never, 0 as never);
  one.committed = null;
  whole.committed?.(0 as never, 0 as never);
  two.committed = null;
  expect([seen, whole.committed]).toEqual([["one", "two", "two"], null]);
});
