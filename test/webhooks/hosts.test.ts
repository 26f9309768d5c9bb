// Hosts of webhook endpoints: public https for all, and private ones for the owners that `webhooks.allow` names.
import { describe, expect, test } from "bun:test";
import { BadAllowEntry } from "../../src/media/host-allowlist.ts";
import { readWebhookHosts } from "../../src/webhooks/hosts.ts";
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
