// Bucket outage: few events per generation, and one probe for all of them.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { type Nodes, openNodes, PICTURE } from "../files/s3/nodes.ts";

let nodes: Nodes;
beforeEach(async () => {
  nodes = await openNodes();
});
afterEach(() => nodes.close());

const count = (journal: readonly string[], type: string) => journal.filter((one) => one === type).length;

test("six generations that wait for an unavailable bucket write at most three events each and share one probe", async () => {
  const harness = await nodes.open();
  nodes.bucket.fail = ({ method }) => (method === "PUT" ? { status: 503, code: "SlowDown" } : undefined);
  const ids = await Promise.all(Array.from({ length: 6 }, async () => (await harness.submit(PICTURE, { prompt: "x" })).id));
  for (const id of ids)
    await harness.eventually(async () => (await nodes.journal(harness, id)).includes("storageRefused"), "the refusal");
  const [asked, fromMs] = [nodes.bucket.seen.length, nodes.clock.nowMs()];
  await harness.eventually(() => nodes.clock.nowMs() > fromMs + 120_000, "two minutes");
  // The pauses between two probes grow to 30 s, and each probe is retried once at most.
  expect(nodes.bucket.seen.length - asked).toBeLessThan(60);
  for (const id of ids) {
    const journal = await nodes.journal(harness, id);
    expect([count(journal, "storageRefused") <= 2, count(journal, "storageReturned") <= 1]).toEqual([true, true]);
  }
  nodes.bucket.fail = () => undefined;
  for (const id of ids) expect((await harness.until(id)).status).toBe("succeeded");
}, 60_000);

test("retries one rejected file with growing pauses while the bucket accepts other files", async () => {
  const harness = await nodes.open();
  let isRefused = true;
  nodes.bucket.fail = ({ method, key }) =>
    isRefused && method === "PUT" && key.startsWith("gen_") ? { status: 400, code: "InvalidRequest" } : undefined;
  const { id } = await harness.submit(PICTURE, { prompt: "x" });
  await harness.eventually(() => harness.lines.some(({ event }) => event === "file not uploaded"), "the log line");
  expect(harness.waiting()?.setAside).toBe(1);
  const fromMs = nodes.clock.nowMs();
  await harness.eventually(() => nodes.clock.nowMs() > fromMs + 300_000, "five minutes");
  // Retries follow after one, two and four minutes. Before the fix they followed every five seconds.
  expect(count(await nodes.journal(harness, id), "storageRefused")).toBeLessThanOrEqual(4);
  isRefused = false;
  nodes.clock.skip(600_000);
  expect((await harness.until(id)).status).toBe("succeeded");
  expect(harness.waiting()?.setAside).toBe(0);
}, 60_000);
