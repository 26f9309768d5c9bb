// `genrouter purchases`: lists by account and state, as text and as JSON, and decisions on foreign-currency reversals.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Account, openAccount } from "../store/fixture.ts";
import { openDirectory } from "../store/open-store.ts";
import { buy, foreignMutation, openPurchaseMutation, payMutation, reversalMutation } from "../store/purchases.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

const dir = freshDir();
let one: Account;
let other: Account;
beforeAll(async () => {
  const store = await openDirectory({ dir, mode: "live" });
  [one, other] = [await openAccount(store, 0), await openAccount(store, 0)];
  await buy(store, one.seq, "a", 1000);
  await buy(store, other.seq, "b", 2500);
  await store.commit([reversalMutation("re_b", "b", 500), openPurchaseMutation(one.seq, "c", 5000), payMutation("c", 4900)]);
  await store.commit([openPurchaseMutation(one.seq, "d", 10_000)]);
  await store.close();
});
afterAll(dropDirs);

const list = (...words: string[]) => runHere(["purchases", "list", "--data", dir, ...words]);
const ids = async (...words: string[]) =>
  JSON.parse((await list("--json", ...words)).out).purchases.map(({ id }: { id: string }) => id);

test("purchases list shows all purchases, newest last, and filters by account, state and number", async () => {
  expect(await ids()).toEqual(["pur_a", "pur_b", "pur_c", "pur_d"]);
  expect(await ids("--account", other.id)).toEqual(["pur_b"]);
  expect(await ids("--state", "mismatched")).toEqual(["pur_c"]);
  expect(await ids("--state", "paid", "--last", "1")).toEqual(["pur_b"]);
});

test("purchases list prints amount, state, payment id and a note on refunds and mismatches", async () => {
  const lines = (await list()).out.trimEnd().split("\n");
  expect(lines[0]).toMatch(/^OPENED +PURCHASE +ACCOUNT +USD +STATE +PAYMENT +NOTE/);
  expect(lines[2]).toMatch(/pur_b +acc_\w+ +\$25\.00 +paid +pi_b +refunded \$5\.00$/);
  expect(lines[3]).toMatch(/pur_c +acc_\w+ +\$50\.00 +mismatched +pi_c +paid 4900 usd$/);
});

test("purchases list --json has every field by name", async () => {
  const { purchases } = JSON.parse((await list("--json", "--state", "paid", "--last", "1")).out);
  expect(purchases[0]).toMatchObject({
    ...{ id: "pur_b", account_id: other.id, state: "paid", usd: 25, refunded_usd: 5, disputed_usd: 0 },
    ...{ provider: "stripe", receipt: 2, checkout: "cs_b", payment: "pi_b", paid_otherwise: null },
  });
});

test("purchases settle decides a reversal in another currency once, for an amount from 0 to the rest of the purchase", async () => {
  const store = await openDirectory({ dir, mode: "live" });
  await store.commit([foreignMutation("re_1", "a", 460), foreignMutation("dp_2", "b", 900, { kind: "dispute" })]);
  await store.close();
  const undecided = (...words: string[]) => runHere(["purchases", "undecided", "--data", dir, ...words]);
  expect(JSON.parse((await undecided("--json")).out).undecided).toMatchObject([
    { id: "dp_2", kind: "dispute", amount: 900, currency: "eur", purchase: "pur_b", bought_usd: 25, taken_back_usd: 5 },
    { id: "re_1", kind: "refund", amount: 460, currency: "eur", purchase: "pur_a", account_id: one.id, payment: "pi_a" },
  ]);
  expect((await undecided()).out.split("\n")[2]).toMatch(/re_1 +460 eur +taken +pur_a +\$10\.00 +\$0\.00 +acc_\w+ +pi_a$/);
  const settle = (...words: string[]) =>
    runHere(["purchases", "settle", "--data", dir, "--reason", "the rate of the day", ...words]);
  expect(await settle("re_1", "--usd", "10.01")).toMatchObject({
    exit: 6,
    err: expect.stringContaining("1001 credits: of the purchase pur_a from 0 to 1000 may be taken back"),
  });
  expect((await settle("re_1", "--usd", "5.20")).out).toBe("decided $5.20  reversed $5.20\n");
  expect((await settle("re_1", "--usd", "4")).exit).toBe(6);
  expect(JSON.parse((await settle("dp_2", "--usd", "0", "--json")).out)).toMatchObject({ moved_usd: 0, paused: false });
  expect((await undecided()).out).toBe("none\n");
  expect(await settle("re_9", "--usd", "1")).toMatchObject({
    err: expect.stringContaining("there is no refund or dispute re_9"),
  });
});

test("purchases list rejects an unknown account with exit code 4 and an unknown state with exit code 2", async () => {
  expect(await list("--account", "acc_none")).toMatchObject({
    exit: 4,
    err: expect.stringContaining("there is no account acc_none"),
  });
  expect(await list("--state", "stolen")).toMatchObject({
    exit: 2,
    err: expect.stringContaining('"stolen" is not a state; use open'),
  });
});
