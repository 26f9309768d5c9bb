// Where a process may open few files, no connection to an upstream or a bucket is kept open for later.
import { expect, test } from "bun:test";
import { mayKeepConnections } from "../../src/http-client/keep-alive.ts";

test("no connection is kept for later where a process may open few files", () => {
  const limits = (soft: string) => `Limit  Soft Limit  Hard Limit  Units\nMax open files            ${soft}  524288  files\n`;
  expect(["64", "1023", "1024", "unlimited"].map((soft) => mayKeepConnections(limits(soft)))).toEqual([false, false, true, true]);
  expect(mayKeepConnections("")).toBe(true);
});
