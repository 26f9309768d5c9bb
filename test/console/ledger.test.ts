// The ledger as people see it: all of it, in order, with a running balance; filtered, in pages, and as CSV that no spreadsheet computes.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { csvRow } from "../../src/console/csv.ts";
import { type LedgerAsk, ledgerCsv, ledgerPage } from "../../src/console/ledger.ts";
import type { Store } from "../../src/store/store.ts";
import { openHere } from "../store/opened.ts";
import { buy } from "../store/purchases.ts";
import { type Account, NOW_MS, openAccount, succeed } from "../store/scene.ts";

let store: Store;
let account: Account;
const TIMES = 1300;
beforeAll(async () => {
  store = await openHere({ path: ":memory:", mode: "test" });
  account = await openAccount(store, 0);
  await buy(store, account.seq, "a", 100_000);
  await succeed(store, account);
  for (let i = 0; i < TIMES; i++)
    await store.commit([
      {
        deed: "credit",
        accountSeq: account.seq,
        kind: "adjust",
        credits: i % 2 ? -3 : 5,
        note: `=${i}`,
        reference: null,
        atMs: NOW_MS + 2000 + i,
      },
    ]);
});
afterAll(() => store.close());

const all = (changes: Partial<LedgerAsk> = {}): LedgerAsk => ({
  ...{ accountId: account.id, kind: null, fromMs: null, toMs: null },
  ...changes,
});

/** Every page until there is none. */
const pagesOf = async (ask: LedgerAsk, limit: number) => {
  const pages = [];
  for (let before: number | null = null; ; ) {
    const page = await ledgerPage(store, ask, before, limit);
    pages.push(page);
    if (page.next === null) return pages;
    before = page.next;
  }
};

test("every movement is in it once, newest first, and each balance follows from the one before", async () => {
  const lines = (await pagesOf(all(), 100)).flatMap((page) => page.lines).reverse();
  expect(lines.map(({ n }) => n)).toEqual(Array.from({ length: TIMES + 4 }, (_, i) => i + 1));
  let balance = 0;
  for (const line of lines) {
    balance += line.changeCredits;
    expect(line.balanceCredits).toBe(balance);
    expect(line.availableCredits + line.heldCredits).toBe(balance);
  }
  expect(lines.slice(0, 4).map(({ kind, credits, changeCredits }) => [kind, credits, changeCredits])).toEqual([
    ["topup", 100_000, 100_000],
    ["hold", 110, 0],
    ["capture", 75, -75],
    ["release", 35, 0],
  ]);
  expect(lines[0]).toMatchObject({ purchaseId: "pur_a", generationId: null });
  expect(lines[2]).toMatchObject({ purchaseId: null, generationId: expect.stringMatching(/^gen_/) });
});

test("by kind and by time: all that fits and nothing else, the ends of a time as they are said", async () => {
  const captures = (await pagesOf(all({ kind: "capture" }), 50)).flatMap((page) => page.lines);
  expect(captures.map(({ credits }) => credits)).toEqual([75]);
  const range = all({ kind: "adjust", fromMs: NOW_MS + 2100, toMs: NOW_MS + 2110 });
  const lines = (await pagesOf(range, 4)).flatMap((page) => page.lines);
  expect(lines.map(({ atMs }) => atMs - NOW_MS - 2100)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  expect(await pagesOf(all({ accountId: "acc_none" }), 4)).toEqual([{ lines: [], next: null }]);
});

test("the CSV holds all of it, and what began like a formula does not", async () => {
  const text = await new Response(ledgerCsv(store, all())).text();
  const rows = text.split("\r\n");
  expect(rows[0]).toBe("n,time,kind,amount_usd,change_usd,balance_usd,available_usd,held_usd,generation,purchase,note");
  expect(rows).toHaveLength(TIMES + 4 + 2);
  expect(rows.at(-1)).toBe("");
  expect(rows[1]).toBe(
    `${TIMES + 4},${new Date(NOW_MS + 2000 + TIMES - 1).toISOString()},adjust,0.03,-0.03,1012.25,1012.25,0.00,,,'=${TIMES - 1}`,
  );
  expect(rows.filter((row) => /(^|,)"?[=+@\t]/.test(row))).toEqual([]);
  const filtered = await new Response(ledgerCsv(store, all({ kind: "topup" }))).text();
  expect(filtered.split("\r\n")).toHaveLength(3);
});

test.each([
  ["=1+1", "'=1+1"],
  ["+44", "'+44"],
  ["-2", "'-2"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["\tx", "'\tx"],
  ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
  ["a,b", '"a,b"'],
  ["two\nlines", '"two\nlines"'],
  ["plain = text", "plain = text"],
])("a cell of text %j is written %j", (text, written) => {
  expect(csvRow([text])).toBe(`${written}\r\n`);
});

test("a number below zero is a number", () => {
  expect(csvRow([-5, { number: "-0.05" }, null])).toBe("-5,-0.05,\r\n");
});
