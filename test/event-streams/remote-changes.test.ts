// Event streams over several nodes: what they read to find the changes of other nodes.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createCursors } from "../../src/domain/cursors.ts";
import type { Caller } from "../../src/domain/types.ts";
import { WEBHOOK_EVENTS } from "../../src/domain/webhooks.ts";
import { createEventStreams, type EventStreams } from "../../src/event-streams/event-streams.ts";
import type { Store } from "../../src/store/store.ts";
import { testClock } from "../clock.ts";
import { eventually } from "../eventually.ts";
import { type Account, admit, capturedMutation, NOW_MS, openAccount, startedMutation } from "../store/fixture.ts";
import { openHere } from "../store/open-store.ts";

const ACCOUNTS = 5;
const OF_ACCOUNT = 20;
const SECONDS = 10;

const clock = testClock(0, NOW_MS);
let store: Store;
let accounts: Account[];
let streams: EventStreams;
/** Calls of each read of the store. */
const calls = new Map<string, number>();
const callsOf = (...names: string[]): number => names.reduce((sum, name) => sum + (calls.get(name) ?? 0), 0);

const counted = (inner: Store): Store =>
  new Proxy(inner, {
    get: (target, name: keyof Store) => {
      const read = target[name];
      if (typeof read !== "function") return read;
      return (...given: unknown[]) => {
        calls.set(name, (calls.get(name) ?? 0) + 1);
        return (read as (...all: unknown[]) => unknown)(...given);
      };
    },
  });

beforeAll(async () => {
  store = await openHere({ path: ":memory:", mode: "test", nowMs: NOW_MS });
  accounts = [];
  for (let n = 0; n < ACCOUNTS; n += 1) accounts.push(await openAccount(store, 1000));
  streams = createEventStreams({
    // Nothing is committed by this node.
    watch: { committed: null },
    ...{
      reads: counted(store),
      resourceOf: () => "{}",
      lowBalanceCredits: 0,
      cursors: createCursors("00"),
      clock,
      soon: setImmediate,
    },
    ...{ closing: new AbortController().signal, isShared: true },
  });
});
afterAll(() => store.close());

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((next) => setImmediate(next));
};
const pass = async (seconds: number): Promise<void> => {
  for (let second = 0; second < seconds; second += 1) {
    clock.skip(1000);
    await turns();
  }
};
const open = async (account: Account): Promise<{ text: () => string; leave: () => void }> => {
  const caller = (await store.callerByKeyHash(account.keyHash)) as Caller;
  const leaving = new AbortController();
  const body = (await streams.ofAccount(caller, new Set(WEBHOOK_EVENTS), null)).open(leaving.signal);
  let text = "";
  const read = async () => {
    for await (const piece of body) text += new TextDecoder().decode(piece);
  };
  void read();
  return { text: () => text, leave: () => leaving.abort() };
};

test("idle streams cost one query a second in all, and a change is read by the streams of its account alone", async () => {
  const opened = await Promise.all(accounts.flatMap((account) => Array.from({ length: OF_ACCOUNT }, () => open(account))));
  await pass(2);
  calls.clear();
  await pass(SECONDS);
  expect(Object.fromEntries(calls)).toEqual({ activityAmong: SECONDS, versionsAmong: SECONDS });
  const [first] = accounts as [Account];
  const mutation = await admit(store, first);
  await store.commit([startedMutation(mutation)]);
  calls.clear();
  await pass(1);
  const ofFirst = () => opened.slice(0, OF_ACCOUNT).map(({ text }) => text());
  await eventually(() => ofFirst().every((text) => text.includes("generation.running")), "the start in each stream");
  expect(callsOf("transfers")).toBe(OF_ACCOUNT);
  await store.commit([capturedMutation(mutation.seq, 2, 1, 75)]);
  await pass(1);
  await eventually(() => ofFirst().every((text) => text.includes("generation.succeeded")), "the end in each stream");
  for (const { text } of opened.slice(OF_ACCOUNT)) expect(text()).not.toContain("event:");
  for (const { leave } of opened) leave();
});
