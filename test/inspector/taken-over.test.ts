// A generation that this node has taken over: its events wait until those of the previous node are read.
import { beforeEach, expect, test } from "bun:test";
import type { Follower, RemoteChange } from "../../src/cluster/remote-changes.ts";
import type { MutationResult } from "../../src/domain/mutations.ts";
import type { ApplyTransition } from "../../src/domain/transition.ts";
import type { GenerationRecord } from "../../src/domain/types.ts";
import type { CommitListener } from "../../src/generations/post-commit.ts";
import { createActorRegistry } from "../../src/inspector/actor-registry.ts";
import { createGenerations } from "../../src/inspector/generations.ts";

const [DEAD, OWN] = ["far/1/2", "here/0/1"];
const PLAN = [{ routeId: "m/fal", priceCredits: 5, expectedMs: 1000 }] as unknown as RemoteChange["plan"];

let wanted: [seq: number, version: number][];
let follower: Follower | undefined;
let registry: ReturnType<typeof createActorRegistry>;
let watch: CommitListener;
let stage: ReturnType<typeof createGenerations>;

const record = (status: "running" | "succeeded") =>
  ({
    ...{ seq: 10, id: "gen_a", accountSeq: 1, model: "m", createdAtMs: 1, attempts: 1 },
    ...{ status, completedAtMs: status === "succeeded" ? 9 : null },
  }) as unknown as GenerationRecord;
const seen = () => {
  const { first, next } = registry.span();
  const changes = Array.from({ length: next - first }, (_, at) => registry.change(first + at));
  return changes.flatMap((change) =>
    change?.happened ? [`${change.happened.version} ${change.happened.to} ${change.happened.node}`] : [],
  );
};
const own = (version: number, stateAfter: string): void => {
  const mutation = {
    mutation: "step",
    version,
    stateAfter,
    atMs: version,
    event: { type: "reported" },
    snapshot: null,
    attemptChanges: [],
  };
  const after = stateAfter === "succeeded" ? "succeeded" : "running";
  watch.committed?.(mutation as unknown as ApplyTransition, { kind: "stepped", record: record(after) } as MutationResult);
};
/** Reports stored events: those from version `ownFrom` on are of this node, all others of the previous node. */
const read = (versions: readonly number[], ownFrom: number): void => {
  const steps = versions.map((version) => ({
    ...{ seq: 10, version, epoch: 2, atMs: version, event: { type: "reported" }, stateAfter: "running.polling" },
    node: version >= ownFrom ? OWN : DEAD,
  }));
  follower?.onReport({
    ...{ record: record("running"), epoch: 1, version: versions.at(-1) ?? 0, plan: PLAN, waitEndsAtMs: 1, snapshot: null },
    ...{ node: ownFrom > 99 ? DEAD : OWN, steps, isNew: versions[0] === 1 },
  });
};

beforeEach(async () => {
  [wanted, watch] = [[], { committed: null }];
  registry = createActorRegistry(() => undefined);
  const neighbours = {
    follow: (one: Follower) => {
      follower = one;
      return { ready: Promise.resolve(), leave: () => undefined };
    },
    want: (seq: number, version: number) => void wanted.push([seq, version]),
    nodeOf: () => DEAD,
    unfinished: async () => [],
    own: OWN,
    counts: () => ({ queued: 0, running: 0 }),
    nodes: () => 2,
  };
  const reads = { openGenerations: async () => [], findGeneration: async () => undefined } as never;
  stage = createGenerations(
    {
      reads,
      watch,
      isLive: () => false,
      elsewhere: { remoteChanges: neighbours, collectMs: 1 },
      prompts: false,
      breathe: async () => undefined,
    },
    registry,
  );
  await stage.begin();
});

test("holds events of this node until the earlier events are read, and shows them in order", () => {
  read([1, 2], 100);
  own(5, "running.polling");
  own(6, "succeeded");
  expect([seen(), wanted]).toEqual([
    ["1 running.polling far/1/2", "2 running.polling far/1/2"],
    [
      [10, 2],
      [10, 2],
    ],
  ]);
  read([3, 4], 100);
  expect(seen().slice(2)).toEqual([
    "3 running.polling far/1/2",
    "4 running.polling far/1/2",
    "5 running.polling here/0/1",
    "6 succeeded here/0/1",
  ]);
  expect(registry.find("gen_a")).toBeUndefined();
});

test("does not show own events a second time when they are read from the store", () => {
  read([1, 2], 100);
  own(5, "running.polling");
  read([3, 4, 5], 5);
  own(6, "running.polling");
  expect(seen().map((line) => line.split(" ")[0])).toEqual(["1", "2", "3", "4", "5", "6"]);
  expect(registry.find("gen_a")?.row).toMatchObject({ node: OWN, state: "running.polling" });
});

test("shows an event immediately when it follows the last known version", () => {
  read([1, 2], 100);
  own(3, "running.polling");
  expect([seen().length, wanted, registry.find("gen_a")?.row.node]).toEqual([3, [], OWN]);
});
