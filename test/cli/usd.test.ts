// Amounts in USD at the terminal: parsing, rejected text and printing.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CommandError } from "../../src/cli/exit-codes.ts";
import { parseUsd, showUsd, usdNumber } from "../../src/cli/usd.ts";

describe("an amount in USD", () => {
  test.each([
    ["1", 100],
    ["25", 2500],
    ["0.01", 1],
    ["0.29", 29],
    ["12.5", 1250],
    ["12.50", 1250],
    ["1.15", 115],
    ["0000010", 1000],
    ["10000000", 1_000_000_000],
  ])("parses %s as %d credits", (text, credits) => {
    expect(parseUsd(text, "--usd")).toBe(credits);
  });

  test.each([
    "",
    "0",
    "0.00",
    "-5",
    "+5",
    "1.",
    ".5",
    "1.005",
    "1e3",
    "0x10",
    " 5",
    "5 ",
    "1,000",
    "NaN",
    "Infinity",
    "10000000.01",
    "99999999",
    "١",
  ])("rejects %p with the name of the flag", (text) => {
    expect(() => parseUsd(text, "--usd")).toThrow(/^--usd: /);
    expect(() => parseUsd(text, "--usd")).toThrow(CommandError);
  });

  test("survives a round trip through JSON and through text for every amount", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000_000 }), (credits) => {
        expect(parseUsd(String(JSON.parse(JSON.stringify(usdNumber(credits)))), "--usd")).toBe(credits);
        expect(parseUsd(showUsd(credits).replace(/[$,]/g, ""), "--usd")).toBe(credits);
      }),
      { numRuns: 2000, seed: 7 },
    );
  });

  test.each([
    [0, "$0.00"],
    [5, "$0.05"],
    [123_456, "$1,234.56"],
    [-1250, "-$12.50"],
    [1_000_000_000, "$10,000,000.00"],
  ])("prints %d credits as %s", (credits, text) => {
    expect(showUsd(credits)).toBe(text);
  });
});
