// Nodes that share an unavailable, slow or rejecting bucket, and a node that crashes: nothing is lost or purchased twice.
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { builtInCatalogue } from "../../../catalogue/load.ts";
import type { Harness, HarnessOptions } from "../../harness.ts";
import { leastInput } from "../../least-input.ts";
import { type Nodes, openNodes, PICTURE } from "./nodes.ts";

setDefaultTimeout(60_000);

const CATALOGUE = builtInCatalogue();

let nodes: Nodes;
beforeEach(async () => {
  nodes = await openNodes();
});
afterEach(() => nodes.close());

const RECOVERED = "object storage recovered";
/** The reported states of the bucket, in their order. */
const reports = ({ lines }: Harness): string[] =>
  lines.flatMap(({ event }) => (/^object storage/.test(String(event)) ? [String(event)] : []));

describe("while the bucket is unavailable", () => {
  const fetches = () => nodes.simulator.jobs().map((job) => job.fetches);

  test("a generation waits, downloads its files once and is charged once after the recovery, although the provider has deleted them", async () => {
    const harness = await nodes.open({ providers: ["replicate"] });
    await nodes.bucket.interrupt();
    const { id } = await harness.submit(PICTURE, { prompt: "a robot" });
    await harness.eventually(async () => (await nodes.journal(harness, id)).includes("storageRefused"), "the refusal");
    expect(await harness.show(id)).toMatchObject({ status: "running", attempts: 1, cost_usd: null });
    expect((await harness.balance()).charged).toBe(0);
    nodes.clock.skip(2 * 3_600_000);
    await harness.eventually(
      () => nodes.clock.nowMs() > 0 && harness.lines.some(({ event }) => event === "object storage unavailable"),
      "the event",
    );
    await nodes.bucket.back();
    const ended = await harness.until(id);
    expect(ended).toMatchObject({ status: "succeeded", attempts: 1 });
    expect(fetches()).toEqual([2]);
    expect(nodes.simulator.submissions()).toHaveLength(1);
    expect((await harness.balance()).charged).toBeGreaterThan(0);
    expect(nodes.objects()).toHaveLength(2);
    expect(readdirSync(join(nodes.dir, "files", "incoming"))).toEqual([]);
    await harness.eventually(() => reports(harness).at(-1) === RECOVERED, "the recovery");
    // The storages of results and of uploads each name their consequence; the bucket recovers once.
    expect(reports(harness).filter((event) => event === RECOVERED)).toHaveLength(1);
    const unavailable = harness.lines
      .filter(({ event }) => event === "object storage unavailable")
      .map(({ fields }) => fields.reason);
    expect(new Set(unavailable).size).toBe(unavailable.length);
  });

  test("one probe serves all waiting generations", async () => {
    const harness = await nodes.open();
    await nodes.bucket.interrupt();
    await nodes.bucket.back();
    nodes.bucket.fail = ({ method }) => (method === "PUT" ? { status: 503, code: "SlowDown" } : undefined);
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await harness.submit(PICTURE, { prompt: "x" })).id));
    for (const id of ids)
      await harness.eventually(async () => (await nodes.journal(harness, id)).includes("storageRefused"), "the refusal");
    const before = nodes.bucket.seen.length;
    const fromMs = nodes.clock.nowMs();
    await harness.eventually(() => nodes.clock.nowMs() > fromMs + 120_000, "two minutes");
    // At most one probe every 15 s by then, of two requests each; otherwise about 20 every 5 s.
    expect(nodes.bucket.seen.length - before).toBeLessThan(60);
    nodes.bucket.fail = () => undefined;
    for (const id of ids) expect((await harness.until(id)).status).toBe("succeeded");
    expect(nodes.objects()).toHaveLength(40);
  });

  test("another node collects and charges the waiting result of a crashed node once", async () => {
    const first = await nodes.open();
    await nodes.bucket.interrupt();
    const { id } = await first.submit(PICTURE, { prompt: "a robot" });
    await first.eventually(async () => (await nodes.journal(first, id)).includes("storageRefused"), "the refusal");
    const second = await nodes.takenOver(first);
    await nodes.bucket.back();
    const ended = await second.until(id, undefined, first.tenant.key);
    expect(ended).toMatchObject({ status: "succeeded", attempts: 1 });
    expect(fetches()).toEqual([4]);
    expect((await second.balance(first.tenant)).charged).toBeGreaterThan(0);
  });

  test("a missing permission does not use up an attempt", async () => {
    const harness = await nodes.open();
    nodes.bucket.fail = ({ method }) => (method === "PUT" ? { status: 403, code: "AccessDenied" } : undefined);
    const { id } = await harness.submit(PICTURE, { prompt: "a robot" });
    await harness.eventually(async () => (await nodes.journal(harness, id)).includes("storageRefused"), "the refusal");
    nodes.bucket.fail = () => undefined;
    nodes.clock.skip(300_000);
    expect(await harness.until(id)).toMatchObject({ status: "succeeded", attempts: 1 });
    expect(harness.lines.some(({ event }) => event === "object storage access denied")).toBe(true);
  });
});

describe("a slow upload", () => {
  test("a retry joins an upload that outlasts collecting, without another upload or download", async () => {
    const harness = await nodes.open();
    let puts = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    nodes.bucket.hold = async ({ method, key }) => {
      if (method !== "PUT" || !key.startsWith("gen_")) return;
      puts += 1;
      await promise;
    };
    const { id } = await harness.submit(PICTURE, { prompt: "a robot" });
    await harness.eventually(async () => (await nodes.journal(harness, id)).includes("storageReturned"), "the second try");
    expect(puts).toBe(1);
    resolve();
    expect(await harness.until(id)).toMatchObject({ status: "succeeded", attempts: 1 });
    expect(puts).toBe(2);
    expect(nodes.simulator.jobs().map((job) => job.fetches)).toEqual([2]);
  });
});

describe("a result inside a provider response", () => {
  const inline = (harness: Harness) => {
    const model = CATALOGUE.models.find(({ id }) => id === "gpt-image-2");
    if (!model) throw new Error("no such model");
    return harness.submit(model.id, leastInput(model, `${nodes.simulator.url}/samples`));
  };
  const options: HarnessOptions = { providers: ["openai"], catalogue: CATALOGUE };

  test("is stored in the bucket once, without a local copy", async () => {
    const harness = await nodes.open(options);
    const { id } = await inline(harness);
    expect((await harness.until(id)).status).toBe("succeeded");
    const files = await nodes.filesOf(harness, id);
    expect(nodes.objects()).toEqual(files.map(({ object }) => `${id}/${object}`));
    expect(nodes.bucket.seen.filter(({ method, key }) => method === "PUT" && key.startsWith(id))).toHaveLength(files.length);
    expect(nodes.bucket.objects.get(nodes.objects()[0] ?? "")?.headers["content-type"]).toBe(files[0]?.mime ?? "");
    expect(readdirSync(join(nodes.dir, "spool"))).toEqual([]);
  });

  test("is collected by another node after its node crashed and lost its disk, without a second submission", async () => {
    const first = await nodes.open(options);
    nodes.bucket.fail = ({ method, isLink }) => (method === "GET" && !isLink ? { status: 503, code: "SlowDown" } : undefined);
    const { id } = await inline(first);
    await first.eventually(async () => (await nodes.journal(first, id)).includes("storageRefused"), "the refusal");
    const second = await nodes.takenOver(first, options);
    nodes.bucket.fail = () => undefined;
    expect(await second.until(id, undefined, first.tenant.key)).toMatchObject({ status: "succeeded", attempts: 1 });
    expect(nodes.simulator.submissions()).toHaveLength(1);
    expect((await nodes.follow(second, id, first.tenant.key)).status).toBe(200);
  });

  test("is removed from the bucket when its generation fails", async () => {
    const harness = await nodes.open(options);
    nodes.simulator.script({ fault: "truncated" });
    const { id } = await inline(harness);
    expect((await harness.until(id)).status).toBe("failed");
    expect(nodes.bucket.seen.some(({ method, key }) => method === "PUT" && key.startsWith(id))).toBe(true);
    await harness.eventually(() => nodes.objects().length === 0, "the end of it");
  });
});
