// `genrouter listen`: printed events, signed requests to a local address, lost connections and errors.
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { run } from "../../src/cli/program.ts";
import { createTerminal } from "../../src/cli/terminal.ts";
import { type CuttingProxy, openCuttingProxy } from "../event-streams/cutting-proxy.ts";
import { type Harness, openHarness } from "../harness.ts";
import { BUYER } from "../store/purchases.ts";
import { isVerified, openReceiver, type Receiver } from "../webhooks/receiver.ts";
import { type Ran, runHere } from "./captured.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
let harness: Harness;
let proxy: CuttingProxy;
let receiver: Receiver;
beforeAll(async () => {
  harness = await openHarness();
  proxy = await openCuttingProxy(harness.url);
});
afterEach(() => receiver?.stop());
afterAll(async () => {
  proxy.stop();
  await harness.close();
});

/** Runs the command until `work` is done, and then sends Ctrl-C. `work` receives a wait for a number of printed lines. */
const during = async (
  words: string[],
  work: (printed: (count: number) => Promise<unknown>) => Promise<unknown>,
): Promise<Ran> => {
  await harness.eventually(() => harness.components.watch.committed === null, "the end of earlier streams");
  const text = { 1: "", 2: "" };
  const write = (fd: 1 | 2, more: string) => {
    text[fd] += more;
  };
  const terminal = createTerminal({}, write, { out: false, err: false });
  const running = run(["listen", "--url", proxy.url, "--key", harness.tenant.key, ...words], terminal, {});
  await harness.eventually(() => text[2].includes("connected; waiting"), "the open stream");
  await work((count) => harness.eventually(() => text[1].split("\n").length > count, `${count} printed lines`));
  process.emit("SIGINT");
  return { exit: await running, out: text[1], err: text[2] };
};
const received = (count: number) => harness.eventually(() => receiver.received.length >= count, `${count} requests`);
const generate = async (prompt = "a kite"): Promise<string> => {
  const { id } = await harness.submit("sim-image-1", { prompt });
  await harness.until(id);
  return id;
};

test("prints one line for each event, forwards it as a signed webhook, and ends with 130 at Ctrl-C", async () => {
  receiver = openReceiver();
  let id = "";
  const { exit, out, err } = await during(["--forward-to", receiver.url, "--secret", SECRET], async (printed) => {
    id = await generate();
    await printed(2);
  });
  expect(receiver.received.map(({ body }) => [body.type, body.data.id])).toEqual([
    ["generation.running", id],
    ["generation.succeeded", id],
  ]);
  for (const one of receiver.received) expect(isVerified(one, SECRET)).toBe(true);
  const lines = out.trim().split("\n");
  expect(lines[0]).toMatch(
    new RegExp(`^\\d\\d:\\d\\d:\\d\\d  generation\\.running    ${id}  sim-image-1  attempts 1  → 200 in \\d+ ms$`),
  );
  expect(lines[1]).toMatch(
    new RegExp(`generation\\.succeeded  ${id}  sim-image-1  attempts 1  charged \\$0\\.\\d\\d  → 200 in \\d+ ms$`),
  );
  expect(err).toContain(`forwarding to ${receiver.url}, signed with ${SECRET}`);
  expect(err).toContain("connected; waiting for events");
  expect(exit as number).toBe(130);
});

test("prints the secret that it makes, with which the requests verify, and reports a receiver that fails", async () => {
  receiver = openReceiver();
  receiver.answer(() => new Response("no", { status: 500 }));
  const { out, err } = await during(["--forward-to", receiver.url, "--events", "generation.failed"], async (printed) => {
    await generate();
    await generate("[sim:fail]");
    await printed(1);
  });
  const [, secret = ""] = /signed with (whsec_\S+)/.exec(err) ?? [];
  expect(receiver.received.map(({ body }) => body.type)).toEqual(["generation.failed"]);
  expect(isVerified(receiver.received[0] as never, secret)).toBe(true);
  expect(out).toMatch(/generation\.failed .* provider_failed: .* → 500 in \d+ ms\n$/);
});

test("connects again after a lost connection, without losing or repeating an event", async () => {
  receiver = openReceiver();
  const ids: string[] = [];
  const { err } = await during(["--forward-to", receiver.url, "--events", "generation.succeeded"], async () => {
    ids.push(await generate());
    await received(1);
    proxy.refuse(true);
    proxy.cut();
    ids.push(await generate());
    proxy.refuse(false);
    await received(2);
    ids.push(await generate());
    await received(3);
  });
  expect(receiver.received.map(({ body }) => body.data.id)).toEqual(ids);
  expect(err).toContain("; connecting again in ");
  expect(err).toContain("connected again; no event was lost");
});

test("with --json prints one JSON object for each event, and the error of an address that does not answer", async () => {
  receiver = openReceiver();
  const { url } = receiver;
  await receiver.stop();
  let id = "";
  const { out } = await during(["--json", "--forward-to", url, "--events", "generation.succeeded"], async (printed) => {
    id = await generate();
    await printed(1);
  });
  const [line] = out.trim().split("\n");
  expect(JSON.parse(line ?? "")).toMatchObject({
    ...{ id: expect.stringMatching(/^evt_/), type: "generation.succeeded", sequence: expect.any(Number), data: { id } },
    forwarded: { status: null, error: expect.any(String) },
  });
});

test("prints a low balance with what is available", async () => {
  const { accountSeq } = harness.tenant;
  const atMs = harness.clock.nowMs();
  const { available } = await harness.balance();
  const { out } = await during(["--events", "credits.low"], async (printed) => {
    await harness.components.post({ mutation: "set-low-balance", accountSeq, credits: available, by: BUYER, atMs });
    const taken = { mutation: "credit", accountSeq, kind: "adjust", credits: -25, note: "", reference: null, atMs } as const;
    await harness.components.post(taken);
    await printed(1);
  });
  expect(out.trim()).toEndWith(`credits.low           $${((available - 25) / 100).toFixed(2)} available`);
});

test.each([
  [["--events", "generation.lost"], 2, '--events: "generation.lost" is none of generation.running'],
  [["--forward-to", "localhost:3000"], 2, '--forward-to: "localhost:3000" is not a URL'],
  [["--forward-to", "http://localhost:3000", "--secret", "short"], 2, "--secret: is not whsec_"],
  [["--secret", SECRET], 2, "--secret signs requests; add --forward-to URL"],
  [["--key", "gr_test_wrong"], 3, "Authorization: this API key is not valid."],
])("exits with an error for %p", async (words, exit, message) => {
  const ran = await runHere(["listen", "--url", harness.url, "--key", harness.tenant.key, ...words]);
  expect([ran.exit as number, ran.out]).toEqual([exit, ""]);
  expect(ran.err).toContain(message);
});
