// Readiness of nodes whose bucket is unavailable, and their recovery without any traffic.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Harness } from "../../harness.ts";
import { type Nodes, openNodes, PICTURE } from "./nodes.ts";

setDefaultTimeout(60_000);

let nodes: Nodes;
beforeEach(async () => {
  nodes = await openNodes();
});
afterEach(() => nodes.close());

const ready = async (harness: Harness) => {
  const { status, body } = await harness.request("GET", "/readyz");
  return { status, faults: body.faults };
};
const DOWN = { status: 503, faults: ["the bucket does not accept files"] };

test("a node that starts without its bucket is alive but not ready, and becomes ready when the bucket recovers", async () => {
  await nodes.bucket.interrupt();
  const harness = await nodes.open();
  await harness.eventually(async () => (await ready(harness)).status === 503, "the node is not ready");
  expect(await ready(harness)).toMatchObject(DOWN);
  expect((await harness.request("GET", "/healthz")).status).toBe(200);
  await nodes.bucket.back();
  await harness.eventually(async () => (await ready(harness)).status === 200, "the node is ready");
  expect((await nodes.picture(harness)).status).toBe("succeeded");
});

test("a node whose credentials are rejected is not ready, and becomes ready when they are accepted", async () => {
  const harness = await nodes.open();
  nodes.bucket.fail = ({ method }) => (method === "PUT" ? { status: 403, code: "SignatureDoesNotMatch" } : undefined);
  const { id } = await harness.submit(PICTURE, { prompt: "a kite" });
  await harness.eventually(async () => (await ready(harness)).status === 503, "the node is not ready");
  expect(await ready(harness)).toMatchObject(DOWN);
  await harness.eventually(async () => (await nodes.journal(harness, id)).includes("storageRefused"), "the result waits");
  nodes.clock.skip(3_600_000);
  nodes.bucket.fail = () => undefined;
  await harness.eventually(async () => (await ready(harness)).status === 200, "the node is ready");
  expect(await harness.until(id)).toMatchObject({ status: "succeeded", attempts: 1 });
});

test("a single process stays ready without its bucket and serves waiting results from disk", async () => {
  await nodes.bucket.interrupt();
  const harness = await nodes.open({ shared: false });
  expect((await nodes.picture(harness)).status).toBe("succeeded");
  await harness.eventually(
    () => harness.lines.some(({ event }) => event === "object storage unavailable"),
    "the bucket is unavailable",
  );
  expect((await ready(harness)).status).toBe(200);
});
