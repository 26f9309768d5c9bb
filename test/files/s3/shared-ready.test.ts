// Whether a node is sent work by a load balancer while its bucket takes no files, and that it comes back by itself with no work to do.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import type { House } from "../../harness.ts";
import { type Nodes, openNodes, PICTURE } from "./nodes.ts";

setDefaultTimeout(60_000);

let nodes: Nodes;
beforeEach(async () => {
  nodes = await openNodes();
});
afterEach(() => nodes.close());

const ready = async (house: House) => {
  const { status, body } = await house.ask("GET", "/readyz");
  return { status, faults: body.faults };
};
const DOWN = { status: 503, faults: ["the bucket takes no files"] };

test("a node whose bucket is away at its start lives, takes no work, and is ready when the bucket is back", async () => {
  await nodes.bucket.away();
  const house = await nodes.open();
  await house.eventually(async () => (await ready(house)).status === 503, "the bucket is missed");
  expect(await ready(house)).toMatchObject(DOWN);
  expect((await house.ask("GET", "/healthz")).status).toBe(200);
  await nodes.bucket.back();
  await house.eventually(async () => (await ready(house)).status === 200, "it is ready");
  expect((await nodes.picture(house)).status).toBe("succeeded");
});

test("a node whose secret is refused takes no work, however long, and is ready with nothing waiting when it is taken", async () => {
  const house = await nodes.open();
  nodes.bucket.fail = ({ method }) => (method === "PUT" ? { status: 403, code: "SignatureDoesNotMatch" } : undefined);
  const { id } = await house.submit(PICTURE, { prompt: "a kite" });
  await house.eventually(async () => (await ready(house)).status === 503, "the bucket is missed");
  expect(await ready(house)).toMatchObject(DOWN);
  await house.eventually(async () => (await nodes.journal(house, id)).includes("storageRefused"), "the result waits");
  nodes.clock.skip(3_600_000);
  nodes.bucket.fail = () => undefined;
  await house.eventually(async () => (await ready(house)).status === 200, "it is ready");
  expect(await house.until(id)).toMatchObject({ status: "succeeded", attempts: 1 });
});

test("a process alone stays ready: it serves what waits from its own disk", async () => {
  await nodes.bucket.away();
  const house = await nodes.open({ shared: false });
  expect((await nodes.picture(house)).status).toBe("succeeded");
  await house.eventually(() => house.lines.some(({ event }) => event === "bucket away"), "the bucket is missed");
  expect((await ready(house)).status).toBe(200);
});
