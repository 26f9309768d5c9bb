// The API key form: amounts without floats, days in UTC, and errors at their field.
import { describe, expect, test } from "bun:test";
import type { KeyView } from "../../src/console/keys-dto.ts";
import { creditsOf, EMPTY_FORM, formOf, requestOf } from "../../web/console/key-form.ts";

const NOW_MS = Date.UTC(2026, 8, 21, 14);

test.each([
  ["", null],
  ["  ", null],
  ["5", 500],
  ["0.29", 29],
  ["1.1", 110],
  ["12,50", 1250],
  [" 7.00 ", 700],
  ["10000000", 1_000_000_000],
  ["0", undefined],
  ["0.00", undefined],
  ["-1", undefined],
  ["1.005", undefined],
  ["1e3", undefined],
  ["10000000.01", undefined],
  ["$5", undefined],
])("parses %j USD as %p credits", (text, credits) => {
  expect(creditsOf(text)).toBe(credits as never);
});

describe("the key form", () => {
  test("requests a key without limits or expiry when it is unchanged", () => {
    expect(requestOf(EMPTY_FORM, NOW_MS)).toEqual({
      request: { name: "", scope: "generate", expiresAtMs: null, models: null, limits: { day: null, week: null, month: null } },
    });
  });

  test("requests a key that expires at the end of a UTC day, or after a number of days from now", () => {
    const dated = requestOf({ ...EMPTY_FORM, expiry: "date", date: "2026-09-21" }, NOW_MS);
    expect(dated).toMatchObject({ request: { expiresAtMs: Date.UTC(2026, 8, 22) } });
    expect(requestOf({ ...EMPTY_FORM, expiry: "90" }, NOW_MS)).toMatchObject({
      request: { expiresAtMs: NOW_MS + 90 * 86_400_000 },
    });
  });

  test("returns every error at its field", () => {
    const form = { ...EMPTY_FORM, expiry: "date" as const, date: "2026-09-20", models: [], name: "x".repeat(201) };
    expect(Object.keys(requestOf({ ...form, limits: { day: "a", week: "", month: "0" } }, NOW_MS).faults ?? {})).toEqual([
      ...["day", "month", "date", "models", "name"],
    ]);
    expect(requestOf({ ...EMPTY_FORM, expiry: "date" }, NOW_MS).faults).toEqual({ date: expect.any(String) });
  });

  test("returns the same request to the millisecond for a key that is edited without changes", () => {
    const expiresAtMs = NOW_MS + 5_000_123;
    const limit = { limitCredits: 1205, spentCredits: 3, resetsAtMs: 0 };
    const key: KeyView = {
      ...{ id: "key_1", accountId: "acc_1", name: "ci", start: "gr", createdAtMs: 0 },
      ...{ scope: "read", state: "active" },
      ...{ expiresAtMs, revokedAtMs: null, lastUsedAtMs: null, rotatedFrom: null, rotatedTo: null, models: ["a"] },
      ...{ limits: { day: limit, week: null, month: null }, last30Credits: 0 },
    };
    expect(requestOf(formOf(key), NOW_MS, expiresAtMs)).toEqual({
      request: { name: "ci", scope: "read", expiresAtMs, models: ["a"], limits: { day: 1205, week: null, month: null } },
    });
  });
});
