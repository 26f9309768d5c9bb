// Hosts of webhook endpoints: public https for all, and private ones for the owners that `webhooks.allow` names.
import { describe, expect, test } from "bun:test";
import { BadAllowEntry } from "../../src/media/host-allowlist.ts";
import { readWebhookHosts } from "../../src/webhooks/hosts.ts";
import { createWebhookService } from "../../src/webhooks/service.ts";
import { openWebhooks } from "./fixture.ts";
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
  await expect(service.update(key, ofOperator.id, { url: receiver.url })).rejects.toThrow("url: ");
  expect((await service.update(operator, ofOperator.id, { url: `${receiver.url}/x` })).url).toBe(`${receiver.url}/x`);
  await receiver.stop();
  await scene.close();
});
