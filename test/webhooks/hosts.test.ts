// Hosts of webhook endpoints: public https for all, and private ones for the owners that `webhooks.allow` names.
import { describe, expect, test } from "bun:test";
import type { PendingDelivery } from "../../src/domain/webhooks.ts";
import { BadAllowEntry } from "../../src/media/host-allowlist.ts";
import { readWebhookHosts } from "../../src/webhooks/hosts.ts";
import { createWebhookService } from "../../src/webhooks/service.ts";
import { createTargets } from "../../src/webhooks/targets.ts";
import { messageOf } from "../api/harness.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { testClock } from "../clock.ts";
import { openWebhooks, PROMPT } from "./fixture.ts";
import { openReceiver } from "./receiver.ts";

const SETTING = "acc_1@127.0.0.1:9000, hooks.internal,acc_1@10.0.0.5";
const ada = { accountId: "acc_1", isOperatorMade: false };
const other = { accountId: "acc_2", isOperatorMade: false };

describe("webhooks.allow", () => {
  test("allows the hosts beside an account to that account only", () => {
    const allowsFor = readWebhookHosts(SETTING, false);
    expect(["127.0.0.1:9000", "127.0.0.1:9001", "10.0.0.5:80", "hooks.internal"].map(allowsFor(ada))).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(["127.0.0.1:9000", "10.0.0.5", "hooks.internal"].map(allowsFor(other))).toEqual([false, false, false]);
  });

  test("allows hosts without an account to endpoints of operators, and with the simulator to all accounts", () => {
    expect(readWebhookHosts(SETTING, false)({ ...other, isOperatorMade: true })("hooks.internal:81")).toBe(true);
    expect(readWebhookHosts(SETTING, true)(other)("hooks.internal")).toBe(true);
    expect(readWebhookHosts(SETTING, true)(other)("127.0.0.1:9000")).toBe(false);
  });

  test.each(["acc_1@", "a b", "acc_1@http://x", "ada@10.0.0.5"])("refuses the entry %s and names the setting", (entry) => {
    expect(() => readWebhookHosts(entry, false)).toThrow(BadAllowEntry);
    expect(() => readWebhookHosts(entry, false)).toThrow("GENROUTER_WEBHOOKS__ALLOW");
  });
});

test("opens no connection when the name of a receiver resolves to a private address at the time of a try", async () => {
  const receiver = openReceiver();
  const scene = await openWebhooks(
    { env: { GENROUTER_WEBHOOKS__ALLOW: "" }, webhooks: { fetch: { resolve: async () => ["127.0.0.1"] } } },
    receiver,
  );
  await scene.endpoint({ url: "https://rebinding.example/" });
  await scene.generate();
  const [made] = await scene.eventually(async () => {
    const [delivery] = await scene.deliveries();
    return delivery && delivery.tries.length > 0 && delivery.tries;
  });
  expect(made).toMatchObject({ status: null, error: "its host has no public address" });
  expect(receiver.received).toEqual([]);
  await receiver.stop();
  await scene.close();
});

test("an endpoint of an operator may have a private host of the setting, and one that a key created may not", async () => {
  const receiver = openReceiver();
  const host = new URL(receiver.url).host;
  // Not the simulator: there, the setting is for all accounts.
  const allowsFor = readWebhookHosts(host, false);
  const scene = await openWebhooks({ env: { GENROUTER_WEBHOOKS__ALLOW: host } }, receiver);
  const service = createWebhookService({
    clock: scene.clock,
    reads: scene.store,
    post: scene.components.post,
    secrets: { current: () => "whsec_x" },
    allowsFor,
  });
  const { accountSeq, accountId } = scene.tenant;
  const operator = { accountSeq, accountId, keySeq: null };
  const key = { accountSeq, accountId, keySeq: 1 };
  const fields = { events: "*", description: "", enabled: true };
  await expect(service.create(key, { url: receiver.url, ...fields })).rejects.toThrow("url: ");
  const { endpoint: ofOperator } = await service.create(operator, { url: receiver.url, ...fields });
  const { endpoint: ofKey } = await service.create(key, { url: "https://example.com/", ...fields });
  await expect(service.update(operator, ofKey.id, { url: receiver.url })).rejects.toThrow("url: ");
  await expect(service.update(key, ofOperator.id, { url: `${receiver.url}/y` })).rejects.toThrow("url: ");
  expect((await service.update(operator, ofOperator.id, { url: `${receiver.url}/x` })).url).toBe(`${receiver.url}/x`);
  await receiver.stop();
  await scene.close();
});

test("an endpoint of an operator loses the hosts of operators when a key changes its URL", async () => {
  const scene = await openWebhooks();
  const allowsFor = readWebhookHosts("hooks.internal", false);
  const secrets = { current: () => "whsec_x", valid: () => ["whsec_x"] };
  const { clock, store: reads } = scene;
  const service = createWebhookService({ clock, reads, post: scene.components.post, secrets, allowsFor });
  const { accountSeq, accountId } = scene.tenant;
  const operator = { accountSeq, accountId, keySeq: null };
  const key = { accountSeq, accountId, keySeq: 1 };
  const fields = { events: "*", description: "", enabled: true };
  const { endpoint } = await service.create(operator, { url: "https://hooks.internal/intended", ...fields });
  const reaches = async () => {
    const targets = createTargets({ clock, reads, secrets, allowsFor, isAlone: true });
    const target = await targets.of({ endpointSeq: endpoint.seq, accountSeq, url: null } as PendingDelivery);
    return typeof target === "object" && target.allows("hooks.internal");
  };
  await service.update(key, endpoint.id, { url: "https://hooks.internal/intended", enabled: false });
  await service.update(key, endpoint.id, { enabled: true });
  await service.update(operator, endpoint.id, { url: "https://hooks.internal/moved" });
  expect(await reaches()).toBe(true);
  await service.update(key, endpoint.id, { url: "https://hooks.internal/admin/delete" });
  expect(await reaches()).toBe(false);
  await service.update(operator, endpoint.id, { url: "https://hooks.internal/intended" });
  expect(await reaches()).toBe(false);
  await scene.receiver.stop();
  await scene.close();
});

test("a replay is answered when its address is not allowed any more, and a malformed address is refused", async () => {
  const dir = freshDir();
  const clock = testClock(100);
  const receiver = openReceiver();
  let scene = await openWebhooks({ dir, clock }, receiver);
  const { simulator, tenant } = scene;
  const submit = (key: string, webhook: string) =>
    scene.request("POST", "/v1/generations", {
      key: tenant.key,
      headers: { "idempotency-key": key, "genrouter-webhook": webhook },
      body: { model: "sim-image-1", input: { prompt: PROMPT } },
    });
  const first = await submit("k", receiver.url);
  expect(first.status).toBe(202);
  await scene.until(String(first.body.id));
  await scene.crash();

  scene = await openWebhooks({ dir, clock, env: { GENROUTER_WEBHOOKS__ALLOW: "" } }, receiver);
  const replayed = await submit("k", receiver.url);
  expect([replayed.status, replayed.body.id]).toEqual([200, first.body.id ?? ""]);
  const other = await submit("other", receiver.url);
  expect([other.status, messageOf(other)]).toEqual([400, expect.stringContaining("Genrouter-Webhook: only https URLs")]);
  for (const malformed of ["nonsense", "ftp://example.com/", "https://ada@example.com/"]) {
    const refused = await submit("k", malformed);
    expect([malformed, refused.status, messageOf(refused)]).toEqual([
      malformed,
      400,
      expect.stringContaining("Genrouter-Webhook: "),
    ]);
  }
  await scene.close();
  await simulator.stop();
  await receiver.stop();
  clock.stop();
  dropDirs();
});
