// Signals: which ones drain a service and which ones end it at once.
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { firstSignal } from "../../src/cli/signals.ts";

test.each<[string, [signal: "SIGINT" | "SIGTERM", atMs: number][], string, number[]]>([
  ["one signal drains and does not end the process", [["SIGTERM", 0]], "SIGTERM", []],
  [
    "a Ctrl-C that parent processes forward twice within 40 ms counts as one signal",
    [
      ["SIGINT", 0],
      ["SIGINT", 2],
      ["SIGTERM", 40],
    ],
    "SIGINT",
    [],
  ],
  [
    "SIGTERM every half second does not cut a drain short",
    [0, 500, 1000, 1500, 2000].map((at) => ["SIGTERM", at]),
    "SIGTERM",
    [],
  ],
  [
    "a second Ctrl-C after a second ends the process at once with 130",
    [
      ["SIGINT", 0],
      ["SIGINT", 1000],
    ],
    "SIGINT",
    [130],
  ],
  [
    "a SIGTERM a second after Ctrl-C ends the process at once with 143",
    [
      ["SIGINT", 0],
      ["SIGTERM", 1000],
    ],
    "SIGINT",
    [143],
  ],
])("%s", async (_, signals, first, exits) => {
  const source = new EventEmitter();
  const ended: number[] = [];
  let nowMs = 0;
  const seen = firstSignal(
    (exit) => ended.push(exit),
    source,
    () => nowMs,
  );
  for (const [signal, atMs] of signals) {
    nowMs = atMs;
    source.emit(signal);
  }
  expect((await seen) as string).toBe(first);
  expect(ended).toEqual(exits);
});
