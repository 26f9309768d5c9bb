// Which signals drain a service and which end it at once.
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { firstSignal } from "../../src/cli/signals.ts";

test.each<[string, [signal: "SIGINT" | "SIGTERM", atMs: number][], string, number[]]>([
  ["one signal drains", [["SIGTERM", 0]], "SIGTERM", []],
  [
    "a Ctrl-C that arrives three times over, forwarded by parents, is one",
    [
      ["SIGINT", 0],
      ["SIGINT", 2],
      ["SIGTERM", 40],
    ],
    "SIGINT",
    [],
  ],
  [
    "SIGTERM every half second from a watcher never cuts a drain short",
    [0, 500, 1000, 1500, 2000].map((at) => ["SIGTERM", at]),
    "SIGTERM",
    [],
  ],
  [
    "a second Ctrl-C after a pause ends at once with 130",
    [
      ["SIGINT", 0],
      ["SIGINT", 1000],
    ],
    "SIGINT",
    [130],
  ],
  [
    "a second SIGTERM after a pause ends at once with 143",
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
