// Tests of the background round: every undecided purchase is checked in turn, regardless of their number and of failing ones.
import { describe, expect, test } from "bun:test";
import { BUYER } from "../store/purchases.ts";
import { openBed } from "./fixture.ts";

const ROUND_SIZE = 100;
const EVERY_MS = 300_000;
/** The number of failed requests after which a round stops. */
const FAULTS = 5;

describe.each([
  ["are paid without an event", "paid"],
  ["have a pending bank payment, except the last", "late"],
  ["cannot be read, except the last", "shut"],
] as const)("with more purchases than the size of a round that %s,", (_, how) => {
  const bed = openBed();
  /** Opens purchases of several accounts. @returns their ids, oldest first */
  const open = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    while (ids.length < count) {
      const { accountId } = await bed.harness.newTenant(0);
      for (let i = 0; i < 20 && ids.length < count; i++)
        ids.push((await bed.harness.components.checkout.buy({ accountId, by: BUYER, usd: 10 })).purchaseId);
    }
    return ids;
  };
  /** Runs a round. @returns the checkouts that it read */
  const round = async (): Promise<string[]> => {
    bed.harness.clock.skip(EVERY_MS);
    const before = bed.stripe.asked.length;
    await bed.harness.components.checkout.rounds();
    const checkouts = bed.stripe.asked.slice(before).filter(({ what }) => what.startsWith("GET /v1/checkout/sessions/"));
    return checkouts.map(({ what }) => what.replace("GET /v1/checkout/sessions/", ""));
  };
  const paid = async (ids: readonly string[]) => {
    const rows = await Promise.all(ids.map((id) => bed.harness.store.purchase(id)));
    return rows.filter((row) => row?.state === "paid").length;
  };

  if (how === "paid")
    test("each round credits as many as its size until all are credited", async () => {
      const ids = await open(2 * ROUND_SIZE + 10);
      for (const id of ids) bed.stripe.pay(id);
      for (const credited of [ROUND_SIZE, 2 * ROUND_SIZE, ids.length]) {
        const asked = await round();
        // A round also reads the invoices of paid purchases.
        expect(asked.length).toBeLessThanOrEqual(2 * ROUND_SIZE);
        expect(await paid(ids)).toBe(credited);
      }
      for (let i = 0; i < 3; i++) await round();
      const rows = await Promise.all(ids.map((id) => bed.harness.store.purchase(id)));
      expect(rows.every((row) => row?.invoiceUrl !== null)).toBe(true);
    }, 60_000);

  if (how === "late")
    test("the last is credited in the next round, and the others after their payments succeed", async () => {
      const ids = await open(ROUND_SIZE + 1);
      for (const id of ids) bed.stripe.pay(id, { payment_status: "unpaid" });
      const last = ids.at(-1) ?? "";
      bed.stripe.pay(last);
      await round();
      expect(await paid(ids)).toBe(0);
      await round();
      expect(await paid([last])).toBe(1);
      for (const id of ids) bed.stripe.pay(id);
      await round();
      await round();
      expect(await paid(ids)).toBe(ids.length);
    }, 60_000);

  if (how === "shut")
    test("a round stops after a few failures, and later rounds reach the last and then retry the others", async () => {
      const ids = await open(ROUND_SIZE + FAULTS + 1);
      const behind = ids.at(-1) ?? "";
      const sessions = ids.slice(0, -1).map((id) => bed.stripe.sessionOf(id).id);
      for (const id of ids) bed.stripe.pay(id);
      for (const session of sessions) bed.stripe.shut.add(session);
      const times = new Map(sessions.map((session) => [session, 0]));
      const turns = sessions.length / FAULTS;
      const once = async () => {
        const asked = await round();
        for (const session of asked) if (times.has(session)) times.set(session, (times.get(session) ?? 0) + 1);
        expect(asked.filter((session) => times.has(session))).toHaveLength(FAULTS);
      };
      for (let i = 0; i < turns; i++) await once();
      expect(new Set(times.values())).toEqual(new Set([1]));
      expect(await paid([behind])).toBe(0);
      await once();
      expect(await paid([behind])).toBe(1);
      for (let i = 1; i < turns - 1; i++) await once();
      expect([Math.min(...times.values()), Math.max(...times.values())]).toEqual([1, 2]);
      expect(bed.lines("payment provider unavailable").at(-1)).toMatchObject({
        reason: expect.stringMatching(/^5 of 100 could not be queried: /),
      });
      bed.stripe.shut.clear();
      await round();
      await round();
      expect(await paid(ids)).toBe(ids.length);
    }, 60_000);
});

describe("a background round", () => {
  const bed = openBed();

  test("that starts during another round joins it", async () => {
    const id = await bed.buy();
    bed.stripe.pay(id);
    bed.harness.clock.skip(EVERY_MS);
    const asking = `GET /v1/checkout/sessions/${bed.stripe.sessionOf(id).id}`;
    const times = () => bed.stripe.asked.filter(({ what }) => what === asking).length;
    await Promise.all([bed.harness.components.checkout.rounds(), bed.harness.components.checkout.rounds()]);
    // One read for the state and one for the invoice.
    expect(times()).toBe(2);
  });

  test("continues with the other purchases and their invoices when one cannot be read", async () => {
    const [first, second] = [await bed.buy(), await bed.buy()];
    bed.stripe.pay(second);
    bed.stripe.shut.add(bed.stripe.sessionOf(first).id);
    bed.harness.clock.skip(EVERY_MS);
    await bed.harness.components.checkout.rounds();
    expect(await bed.harness.store.purchase(second)).toMatchObject({ state: "paid", invoiceNumber: "A-0001" });
  });
});
