// The ledger in the console: order, running balance, filters, pages, and CSV without formulas.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { LedgerPage } from "../../src/console/credits-dto.ts";
import { csvRow } from "../../src/reports/csv.ts";
import { type Harness, openHarness } from "../harness.ts";
import { type Account, NOW_MS, openAccount, succeed } from "../store/fixture.ts";
import { buy } from "../store/purchases.ts";
import { openVisitor, type Visitor } from "./signed-in.ts";

let harness: Harness;
let visitor: Visitor;
let account: Account;
const TIMES = 1300;
beforeAll(async () => {
  harness = await openHarness({ factor: 0 });
  const { store } = harness;
  account = await openAccount(store, 0);
  await buy(store, account.seq, "a", 100_000);
  await succeed(store, account);
  for (let i = 0; i < TIMES; i++)
    await store.commit([
      {
        mutation: "credit",
        accountSeq: account.seq,
        kind: "adjust",
        credits: i % 2 ? -3 : 5,
        note: `=${i}`,
        reference: null,
        atMs: NOW_MS + 2000 + i,
      },
    ]);
  visitor = await openVisitor(harness, "member", { accountSeq: account.seq });
});
afterAll(() => harness.close());

const lines = async (query = "") => (await pagesOf(query)).flatMap((page) => page.lines);
/** Reads every page. */
const pagesOf = async (query: string): Promise<LedgerPage[]> => {
  const pages: LedgerPage[] = [];
  for (let before = ""; ; ) {
    const page = (await visitor.ask("GET", `/console/api/ledger?${query}${before}`)).reported as unknown as LedgerPage;
    pages.push(page);
    if (page.next === null) return pages;
    before = `&before=${page.next}`;
  }
};

test("lists every transfer once, newest first, with balances that follow from the previous line", async () => {
  const reported = (await lines()).reverse();
  expect(reported.map(({ n }) => n)).toEqual(Array.from({ length: TIMES + 4 }, (_, i) => i + 1));
  let balance = 0;
  for (const line of reported) {
    balance += line.changeCredits;
    expect(line.balanceCredits).toBe(balance);
    expect(line.availableCredits + line.heldCredits).toBe(balance);
  }
  expect(reported.slice(0, 4).map(({ kind, credits, changeCredits }) => [kind, credits, changeCredits])).toEqual([
    ["topup", 100_000, 100_000],
    ["hold", 110, 0],
    ["capture", 75, -75],
    ["release", 35, 0],
  ]);
  expect(reported[0]).toMatchObject({ purchaseId: "pur_a", generationId: null });
  expect(reported[2]).toMatchObject({ purchaseId: null, generationId: expect.stringMatching(/^gen_/) });
});

test("filters by kind and by time, with an inclusive start and an exclusive end", async () => {
  expect((await lines("kind=capture")).map(({ credits }) => credits)).toEqual([75]);
  const range = await lines(`kind=adjust&from=${NOW_MS + 2100}&to=${NOW_MS + 2110}`);
  expect(range.map(({ atMs }) => atMs - NOW_MS - 2100)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  expect(await pagesOf(`to=${NOW_MS - 1}`)).toEqual([{ lines: [], next: null }]);
});

test("exports all transfers as CSV and escapes cells that begin like a formula", async () => {
  const { text } = await visitor.ask("GET", "/console/api/ledger.csv");
  const rows = text.split("\r\n");
  expect(rows[0]).toBe("n,time,kind,amount_usd,change_usd,balance_usd,available_usd,held_usd,generation,purchase,note");
  expect(rows).toHaveLength(TIMES + 4 + 2);
  expect(rows.at(-1)).toBe("");
  expect(rows[1]).toBe(
    `${TIMES + 4},${new Date(NOW_MS + 2000 + TIMES - 1).toISOString()},adjust,0.03,-0.03,1012.25,1012.25,0.00,,,'=${TIMES - 1}`,
  );
  expect(rows.filter((row) => /(^|,)"?[=+@\t]/.test(row))).toEqual([]);
  const filtered = await visitor.ask("GET", "/console/api/ledger.csv?kind=topup");
  expect(filtered.text.split("\r\n")).toHaveLength(3);
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
])("writes the text cell %j as %j", (text, written) => {
  expect(csvRow([text])).toBe(`${written}\r\n`);
});

test("writes a negative number as a number", () => {
  expect(csvRow([-5, { number: "-0.05" }, null])).toBe("-5,-0.05,\r\n");
});
