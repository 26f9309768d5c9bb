// Tests that a process with a low limit of open files keeps no idle connections to providers or buckets.
import { expect, test } from "bun:test";
import { mayKeepConnections } from "../../src/http-client/keep-alive.ts";

test("keeps no idle connections when the soft limit of open files is below 1024", () => {
  const limits = (soft: string) => `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${soft}  524288  files\n`;
  expect(["64", "1023", "1024", "unlimited"].map((soft) => mayKeepConnections(limits(soft)))).toEqual([false, false, true, true]);
  expect(mayKeepConnections("")).toBe(true);
});
