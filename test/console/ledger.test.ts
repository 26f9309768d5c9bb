// The ledger in the console: whole generations, running balance, filters, pages, and CSV without formulas.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { LedgerRowsPage } from "../../src/console/credits-dto.ts";
import type { AdmitGeneration } from "../../src/domain/mutations.ts";
import { csvRow } from "../../src/reports/csv.ts";
import { type Harness, openHarness } from "../harness.ts";
import {
  type Account,
  admit,
  capturedMutation,
  commitOne,
  NOW_MS,
  openAccount,
  releasedMutation,
  startedMutation,
  succeed,
} from "../store/fixture.ts";
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

const rows = async (query = "") => (await pagesOf(query)).flatMap((page) => page.rows);
/** Reads every page. */
const pagesOf = async (query: string, who = visitor): Promise<LedgerRowsPage[]> => {
  const pages: LedgerRowsPage[] = [];
  for (let before = ""; ; ) {
    const page = (await who.ask("GET", `/console/api/ledger?${query}${before}`)).reported as unknown as LedgerRowsPage;
    pages.push(page);
    if (page.next === null) return pages;
    before = `&before=${page.next}`;
  }
};

/** Every transfer is in one row, and the balance of each row follows from the row before it. */
const expectWhole = (pages: readonly LedgerRowsPage[], transfers: number): void => {
  const reported = pages.flatMap((page) => page.rows).toReversed();
  const numbers = reported.flatMap(({ lines }) => lines.map(({ n }) => n));
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: transfers }, (_, i) => i + 1));
  let balance = 0;
  for (const row of reported) {
    balance += row.changeCredits;
    expect(row.balanceCredits).toBe(balance);
  }
};

test("lists a row for each generation and each other transfer, with balances that follow from the previous row", async () => {
  const pages = await pagesOf("");
  expectWhole(pages, TIMES + 4);
  const [bought, generation] = pages.flatMap((page) => page.rows).toReversed();
  expect(bought).toMatchObject({ kind: "topup", changeCredits: 100_000, purchaseId: "pur_a", generation: null });
  expect(generation).toMatchObject({
    ...{ kind: "capture", changeCredits: -75, openHoldCredits: 0, purchaseId: null },
    generation: { id: expect.stringMatching(/^gen_/), model: "vidmodel-2.0", prompt: "a fox in the snow" },
  });
  expect(generation?.lines.map(({ kind, credits, changeCredits }) => [kind, credits, changeCredits])).toEqual([
    ["hold", 110, 0],
    ["capture", 75, -75],
    ["release", 35, 0],
  ]);
});

test("a generation is on one page with all of its transfers, whatever came between them", async () => {
  const { store } = harness;
  const busy = await openAccount(store, 1_000_000);
  const open: AdmitGeneration[] = [];
  const ended = { captured: 0, released: 0 };
  // Holds and settlements are far apart, so that page borders lie between them.
  for (let n = 0; n < 200; n += 1) {
    open.push(await admit(store, busy));
    const first = open.length > 60 ? open.shift() : undefined;
    if (!first) continue;
    const isCaptured = n % 3 > 0;
    ended[isCaptured ? "captured" : "released"] += 1;
    if (isCaptured) await store.commit([startedMutation(first), capturedMutation(first.seq, 2, 1, 75)]);
    else await store.commit([releasedMutation(first.seq, 1)]);
  }
  const who = await openVisitor(harness, "member", { accountSeq: busy.seq });
  const pages = await pagesOf("", who);
  expect(pages.length).toBeGreaterThan(4);
  expectWhole(pages, 1 + 200 + 2 * ended.captured + ended.released);
  const found = pages.flatMap((page) => page.rows);
  const ids = found.flatMap(({ generation }) => generation?.id ?? []);
  expect(new Set(ids).size).toBe(200);
  expect(ids).toHaveLength(200);
  const kinds = (kind: string) => found.filter((row) => row.kind === kind);
  expect(kinds("capture").every(({ changeCredits, lines }) => changeCredits === -75 && lines.length === 3)).toBe(true);
  expect(kinds("release").every(({ changeCredits, lines }) => changeCredits === 0 && lines.length === 2)).toBe(true);
  expect(kinds("hold").map(({ openHoldCredits }) => openHoldCredits)).toEqual(Array.from(open, () => 110));
  await store.commit(open.map(({ seq }) => releasedMutation(seq, 1)));
});

test("filters by kind and by time, with an inclusive start and an exclusive end", async () => {
  const charged = await rows("kind=capture");
  expect(charged.map(({ changeCredits }) => changeCredits)).toEqual([-75]);
  // A row is whole, so a filter by any kind of its transfers finds it.
  for (const kind of ["hold", "release"]) expect(await rows(`kind=${kind}`)).toEqual(charged);
  const range = await rows(`kind=adjust&from=${NOW_MS + 2100}&to=${NOW_MS + 2110}`);
  expect(range.map(({ atMs }) => atMs - NOW_MS - 2100)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  expect(await pagesOf(`to=${NOW_MS - 1}`)).toEqual([{ rows: [], next: null }]);
});

test.each([
  ["kind=charge", "kind: choose topup, hold, capture, release, adjust, or leave it out"],
  ["from=yesterday", "from: a time is milliseconds since 1970"],
  ["to=-1", "to: a time is milliseconds since 1970"],
  ["before=x", "before: expected the value from the previous page"],
])("rejects the filter %s with a sentence that names the field", async (query, message) => {
  const { status, reported } = await visitor.ask("GET", `/console/api/ledger?${query}`);
  expect([status, (reported.error as { message: string }).message]).toEqual([400, message]);
});

test("the row of an erased generation has no prompt, and its amounts stay", async () => {
  const { store } = harness;
  const erased = await openAccount(store, 1000);
  const { seq } = await succeed(store, erased);
  await commitOne(store, { mutation: "erase-generation", seq, accountSeq: erased.seq, withFiles: false, atMs: NOW_MS + 9000 });
  const who = await openVisitor(harness, "member", { accountSeq: erased.seq });
  const [row] = (await pagesOf("", who)).flatMap((page) => page.rows);
  expect(row).toMatchObject({ changeCredits: -75, generation: { model: "vidmodel-2.0", prompt: null } });
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
