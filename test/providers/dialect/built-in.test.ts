// The dialects of the binary: each compiles, and its adapter shows the same before it is compiled.
import { expect, test } from "bun:test";
import { adapterOf } from "../../../src/providers/dialect/adapter.ts";
import { readDialects } from "../../../src/providers/dialect/load.ts";
import type { Adapter } from "../../../src/providers/port.ts";

/** Names and plain values of the members; a function stands for any other. */
const membersOf = (adapter: Adapter) =>
  Object.fromEntries(
    Object.entries(adapter)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, JSON.stringify(value) ?? typeof value]),
  );

test.each([...readDialects(null)])(
  "the adapter of %s is complete before its templates are compiled",
  (_, { dialect, adapter }) => {
    expect(membersOf(adapter)).toEqual(membersOf(adapterOf(dialect)));
  },
);
