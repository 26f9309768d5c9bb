// Log lines: they name the generation, the error class or the clock that is concerned.
import { expect, test } from "bun:test";
import { createClockMonitor } from "../../src/app/clock-monitor.ts";
import type { EffectsDeps } from "../../src/effects/deps.ts";
import { createDispatcher } from "../../src/effects/dispatcher.ts";
import { onDisk } from "../../src/files/durable-write.ts";
import { answerFault } from "../../src/http/errors.ts";
import type { EventFields, EventName } from "../../src/logging/events.ts";
import { DatabaseUnavailable } from "../../src/store/errors.ts";
import { testClock } from "../clock.ts";
import { eventually } from "../eventually.ts";

type Line = { event: EventName } & EventFields;
const openLog = () => {
  const lines: Line[] = [];
  return { lines, log: (name: EventName, fields: EventFields = {}) => void lines.push({ ...fields, event: name }) };
};

test("logs a clock jump once, with direction and size, and again after the next jump or the correction", () => {
  const reported: [string, string?][] = [];
  const watch = createClockMonitor((event, fields) =>
    reported.push([event, ...(fields?.reason ? [fields.reason] : [])] as never),
  );
  for (const aheadMs of [0.3, -4_000, -3_600_000.6235351562, -3_600_001.1, -3_600_000.2, 7_200_000, 7_200_000, 12, 3])
    watch(aheadMs);
  expect(reported).toEqual([
    ["clock jumped", "the service's clock is 60 min behind the machine's, which was set forward"],
    ["clock jumped", "the service's clock is 2 h ahead of the machine's, which was set back"],
    ["clock corrected"],
  ]);
});

test("the line of a failed request has the error class and code but no text of the request", () => {
  class StoreOdd extends Error {}
  for (const [fault, reason] of [
    [new TypeError("a secret prompt"), "TypeError"],
    [new StoreOdd("a secret prompt"), "StoreOdd"],
    [
      Object.assign(new Error("a secret prompt"), { code: "ERR_POSTGRES_CONNECTION_CLOSED" }),
      "Error: ERR_POSTGRES_CONNECTION_CLOSED",
    ],
    [Object.assign(new Error("a secret prompt"), { code: "a secret prompt" }), "Error"],
    ["a secret prompt", "string"],
  ] as const) {
    const { lines, log } = openLog();
    answerFault(fault, "req_1", log, "GET", "/v1/x");
    expect(lines).toMatchObject([{ event: "request failed", reason }]);
    expect(JSON.stringify(lines)).not.toContain("secret");
  }
});

test("EMFILE is reported as a lack of file descriptors, not as a disk fault", async () => {
  const full = Object.assign(new Error("too many open files"), { code: "EMFILE" });
  expect(onDisk(() => Promise.reject(full))).rejects.toThrow("no descriptor is left to open a file: EMFILE");
});

const failing = (fault: Error) => {
  const { lines, log } = openLog();
  const parts = {
    ...{ clock: testClock(0), log, pace: 1, chance: () => 0.5, restored: null, report: () => undefined },
    reads: {
      attempt: () => Promise.reject(fault),
      inputOf: () => Promise.reject(fault),
      generationBySeq: async () => ({ id: "gen_1" }),
    },
  };
  createDispatcher(parts as unknown as EffectsDeps).perform(7, { type: "effect.confirm", n: 2 });
  return lines;
};

test("the line of a failed task has the generation id, its row number and the attempt number", async () => {
  const lines = failing(new Error("it is broken"));
  await eventually(() => lines.length > 0, "the log line");
  expect(lines[0]).toEqual({
    ...{ event: "submission confirmation failed", generation_id: "gen_1", generation_seq: 7 },
    ...{ attempt: 2, reason: "it is broken" },
  } as never);
});

test("a database outage logs no failed task for a generation", async () => {
  const lines = failing(new DatabaseUnavailable("the database cannot be read"));
  for (let turn = 0; turn < 20; turn += 1) await new Promise((next) => setImmediate(next));
  expect(lines).toEqual([]);
});
