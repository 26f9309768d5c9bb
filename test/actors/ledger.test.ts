// Tests the ledger actor: group commit, responses after the commit, a full disk and an unknown outcome.
import { expect, test } from "bun:test";
import { setImmediate } from "node:timers";
import { createLedger } from "../../actors/ledger.ts";
import { StoreFull, StoreUnknown } from "../../src/domain/commit-errors.ts";
import type { Mutation, MutationResult } from "../../src/domain/mutations.ts";
import { testClock } from "../clock.ts";

const beat = (atMs: number): Mutation => ({ mutation: "beat", atMs });
const note = (seq: number): Mutation => ({ mutation: "mark-attempt", seq, atMs: 0, change: { n: 1, watchUntilMs: null } });
const admit = (seq: number) => ({ mutation: "admit", seq }) as unknown as Extract<Mutation, { mutation: "admit" }>;
const admitted = { kind: "admitted" } as unknown as MutationResult;

/** Opens a ledger whose commits a test resolves or rejects. */
const scene = () => {
  const clock = testClock(0);
  type Commit = { mutations: readonly Mutation[]; answer(): void; fail(fault: unknown): void };
  const commits: Commit[] = [];
  const reported: string[] = [];
  const outcomeOf = (mutation: Mutation): MutationResult =>
    mutation.mutation === "admit" ? admitted : { kind: "done", seq: mutation.mutation === "beat" ? mutation.atMs : 0 };
  const ledger = createLedger({
    clock,
    soon: setImmediate,
    commit: (mutations) =>
      new Promise((resolve, reject) => {
        commits.push({ mutations, answer: () => resolve(mutations.map(outcomeOf)), fail: reject });
      }),
    committed: (mutation) => reported.push(`committed ${mutation.mutation}`),
    unknown: () => reported.push("unknown"),
    full: () => reported.push("full"),
    onSpace: () => reported.push("has space"),
    defect: () => reported.push("defect"),
  });
  /** Waits a few turns of the event loop. */
  const turns = async () => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((wake) => setImmediate(wake));
  };
  return { clock, ledger, commits, reported, turns };
};
/** Tracks the state of a promise. */
const standing = <T>(promise: Promise<T>) => {
  const seen: { state: "open" | "kept" | "broken"; fault?: unknown } = { state: "open" };
  promise.then(
    () => {
      seen.state = "kept";
    },
    (fault: unknown) => {
      seen.state = "broken";
      seen.fault = fault;
    },
  );
  return seen;
};

test("commits 1,000 posts of one turn together, in their order, and resolves none before the commit", async () => {
  const { ledger, commits, turns, reported } = scene();
  const posts = Array.from({ length: 1000 }, (_, at) => ledger.post(beat(at)));
  const seen = posts.map(standing);
  await turns();
  expect(commits).toHaveLength(1);
  expect(commits[0]?.mutations.map((mutation) => (mutation.mutation === "beat" ? mutation.atMs : -1))).toEqual(
    posts.map((_, at) => at),
  );
  expect(seen.every(({ state }) => state === "open")).toBe(true);
  expect(reported).toEqual([]);
  commits[0]?.answer();
  expect(await Promise.all(posts)).toEqual(posts.map((_, at) => ({ kind: "done", seq: at })));
  expect(reported).toHaveLength(1000);
});

test("splits 2,500 posts into commits of at most 1,000, one after the other", async () => {
  const { ledger, commits, turns } = scene();
  const posts = Array.from({ length: 2500 }, (_, at) => ledger.post(beat(at)));
  for (const size of [1000, 1000, 500]) {
    await turns();
    expect(commits.at(-1)?.mutations).toHaveLength(size);
    commits.at(-1)?.answer();
  }
  await Promise.all(posts);
  expect(commits).toHaveLength(3);
});

test("commits everything that arrives during a commit in the next one", async () => {
  const { ledger, commits, turns } = scene();
  const first = ledger.post(beat(1));
  await turns();
  const later: Promise<unknown>[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    later.push(ledger.post(beat(turn)));
    await turns();
  }
  expect(commits).toHaveLength(1);
  commits[0]?.answer();
  await first;
  await turns();
  expect(commits).toHaveLength(2);
  expect(commits[1]?.mutations).toHaveLength(5);
  commits[1]?.answer();
  await Promise.all(later);
});

test("after a commit of many, gathers while each few turns bring more, and commits one that is alone at once", async () => {
  const { ledger, commits, turns } = scene();
  const turn = () => new Promise((wake) => setImmediate(wake));
  const many = Array.from({ length: 5 }, (_, at) => ledger.post(beat(at)));
  await turns();
  commits[0]?.answer();
  await Promise.all(many);
  const gathered: Promise<unknown>[] = [];
  for (let at = 0; at < 4; at += 1) {
    gathered.push(ledger.post(beat(at)));
    await turn();
    await turn();
    expect(commits).toHaveLength(1);
  }
  await turns();
  expect(commits[1]?.mutations).toHaveLength(4);
  commits[1]?.answer();
  await Promise.all(gathered);
  const alone = ledger.post(beat(9));
  await Promise.resolve();
  expect(commits[2]?.mutations).toHaveLength(1);
  commits[2]?.answer();
  await alone;
});

test("a steady stream of mutations does not delay a commit for more than 16 turns", async () => {
  const { ledger, commits, turns } = scene();
  const posts = Array.from({ length: 5 }, (_, at) => ledger.post(beat(at)));
  await turns();
  commits[0]?.answer();
  await Promise.all(posts);
  for (let at = 0; commits.length === 1; at += 1) {
    if (at > 17) throw new Error("the commit has not begun");
    posts.push(ledger.post(beat(at)));
    await new Promise((wake) => setImmediate(wake));
  }
  commits[1]?.answer();
  await turns();
  if (commits.length > 2) commits[2]?.answer();
  await Promise.all(posts);
});

test("calls the committed hook before a post resolves, and isolates an error of the hook", async () => {
  const clock = testClock(0);
  const order: string[] = [];
  const ledger = createLedger({
    clock,
    soon: setImmediate,
    commit: async (mutations) => mutations.map(() => ({ kind: "done" })),
    committed: (mutation) => {
      order.push("hook");
      if (mutation.mutation === "beat" && mutation.atMs === 1) throw new Error("a bug");
    },
    unknown: () => order.push("unknown"),
    full: () => order.push("full"),
    defect: () => order.push("defect"),
  });
  const posts = [1, 2].map((atMs) => ledger.post(beat(atMs)).then(() => order.push(`poster ${atMs}`)));
  await Promise.all(posts);
  expect(order).toEqual(["hook", "defect", "hook", "poster 1", "poster 2"]);
});

test("on a full disk rejects submissions, keeps notes and retries them with growing pauses until there is space", async () => {
  const { clock, ledger, commits, turns, reported } = scene();
  const posts = [admit(1), beat(1), note(1)].map((mutation) => standing(ledger.post(mutation)));
  await turns();
  commits[0]?.fail(new StoreFull("full"));
  await turns();
  expect(posts.map(({ state }) => state)).toEqual(["broken", "broken", "open"]);
  expect(posts[0]?.fault).toBeInstanceOf(StoreFull);
  expect(posts[1]?.fault).toBeInstanceOf(StoreFull);
  expect(ledger.load()).toMatchObject({ isFull: true, fullAtMs: clock.nowMs() });
  expect(reported).toEqual(["full"]);
  // While the disk is full, the ledger rejects at once; a note joins the mailbox.
  await expect(ledger.post(admit(2))).rejects.toBeInstanceOf(StoreFull);
  await expect(ledger.post(beat(2))).rejects.toBeInstanceOf(StoreFull);
  const joined = standing(ledger.post(note(2)));
  for (const [at, pauseMs] of [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000].entries()) {
    const seeker = standing(ledger.space());
    clock.skip(pauseMs - 1);
    await turns();
    expect(commits).toHaveLength(at + 1);
    expect(seeker.state).toBe("open");
    clock.skip(1);
    await turns();
    expect(seeker.state).toBe("kept");
    expect(commits).toHaveLength(at + 2);
    expect(commits[at + 1]?.mutations).toEqual([note(1), note(2)]);
    commits[at + 1]?.fail(new StoreFull("full"));
    await turns();
  }
  clock.skip(10_000);
  await turns();
  commits.at(-1)?.answer();
  await turns();
  expect([posts[2]?.state, joined.state]).toEqual(["kept", "kept"]);
  // After nine refused attempts, the ledger has reported once that the disk is full and once that it has space.
  expect(reported).toEqual(["full", "has space", "committed mark-attempt", "committed mark-attempt"]);
  expect(ledger.load()).toMatchObject({ isFull: false, fullAtMs: clock.nowMs() });
  await ledger.space();
});

test("accepts the next submission after a pause if only submissions met the full disk", async () => {
  const { clock, ledger, commits, turns } = scene();
  const first = standing(ledger.post(admit(1)));
  await turns();
  commits[0]?.fail(new StoreFull("full"));
  await turns();
  expect(first.state).toBe("broken");
  clock.skip(250);
  await turns();
  expect(ledger.load()).toMatchObject({ isFull: false, waiting: 0 });
  const second = ledger.post(admit(2));
  await turns();
  commits.at(-1)?.answer();
  expect(await second).toEqual(admitted as never);
});

test("on an unknown outcome rejects every post in and after the commit, reports it once and commits nothing more", async () => {
  const { clock, ledger, commits, turns, reported } = scene();
  const inside = standing(ledger.post(beat(1)));
  await turns();
  const behind = standing(ledger.post(beat(2)));
  commits[0]?.fail(new StoreUnknown("fsync failed"));
  await turns();
  const after = standing(ledger.post(beat(3)));
  await turns();
  clock.skip(60_000);
  await turns();
  expect([inside.state, behind.state, after.state]).toEqual(["broken", "broken", "broken"]);
  expect(reported).toEqual(["unknown"]);
  expect(commits).toHaveLength(1);
  expect(ledger.actor.getSnapshot().value).toBe("stopped");
  await ledger.idle();
});

test("idle waits for every post, but not for space on a full disk", async () => {
  const { ledger, commits, turns } = scene();
  await ledger.idle();
  const post = ledger.post(beat(1));
  const idle = standing(ledger.idle());
  await turns();
  expect(idle.state).toBe("open");
  commits[0]?.answer();
  await post;
  await turns();
  expect(idle.state).toBe("kept");
  void ledger.post(note(2));
  const stuck = standing(ledger.idle());
  await turns();
  commits[1]?.fail(new StoreFull("full"));
  await turns();
  expect(stuck.state).toBe("kept");
});
