// The start of the delivery: an unavailable store delays no other part of the start.
import { expect, test } from "bun:test";
import { StoreUnknown } from "../../src/domain/commit-errors.ts";
import { DatabaseUnavailable } from "../../src/store/errors.ts";
import { createWebhookDelivery, type DeliveryDeps } from "../../src/webhooks/delivery.ts";
import { testClock } from "../clock.ts";

/** A delivery whose store fails the first reads. */
const open = (failures: number, fault: Error = new DatabaseUnavailable("no connection")) => {
  const clock = testClock();
  let reads = 0;
  const webhookLanes = async () => {
    reads += 1;
    if (reads <= failures) throw fault;
    return [];
  };
  const targets = { of: async () => "deleted" as const, forget: () => undefined };
  const events: string[] = [];
  const log = (event: string) => void events.push(event);
  const deps = { clock, log, reads: { webhookLanes }, targets, node: null, timeoutMs: 1000 };
  return { clock, delivery: createWebhookDelivery(deps as unknown as DeliveryDeps), reads: () => reads, events };
};
const settle = () => new Promise((turn) => setImmediate(turn));

test("begin reads the queues again every second until the store answers", async () => {
  const { clock, delivery, reads } = open(2);
  expect(delivery.begin()).toBeUndefined();
  for (const expected of [1, 2, 3, 3]) {
    await settle();
    expect(reads()).toBe(expected);
    clock.skip(1000);
  }
  delivery.stop();
  clock.stop();
});

test("a stopped delivery reads nothing more", async () => {
  const { clock, delivery, reads } = open(9);
  delivery.begin();
  delivery.stop();
  await settle();
  clock.skip(10_000);
  await settle();
  expect(reads()).toBe(1);
  clock.stop();
});

test("logs a fault of the service, but not an unknown outcome, which ends the process", async () => {
  for (const [fault, logged] of [
    [new Error("a defect"), ["webhook sending failed"]],
    [new StoreUnknown("the database does not respond"), []],
  ] as const) {
    const { clock, delivery, events } = open(1, fault);
    delivery.begin();
    await settle();
    expect(events).toEqual([...logged]);
    delivery.stop();
    clock.stop();
  }
});
