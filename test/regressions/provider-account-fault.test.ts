// Provider account faults: a rejected key or an empty balance closes all routes of that account.
//
// A successful check of one route reopens all of them.
import { afterEach, expect, test } from "bun:test";
import { blobFile } from "../../src/files/verified-file.ts";
import type { CallProvider } from "../../src/providers/http-call.ts";
import { createProviders } from "../../src/providers/providers.ts";
import type { FaultName } from "../../src/simulator/faults.ts";
import type { Harness } from "../harness.ts";
import { openHarness } from "../harness.ts";
import { answer } from "../providers/task.ts";

let harness: Harness;
afterEach(() => harness.close());

const INPUT = { prompt: "a kite", resolution: "480p", duration: 4 };
/** The number of routes that are down, by provider, as "N of M". */
const downAt = async () => {
  const rows = (await (await harness.admin()).listRoutes({ model: null, provider: null })).filter(
    ({ state }) => state !== "no key",
  );
  const of = (provider: string) => rows.filter((row) => row.provider === provider);
  return Object.fromEntries(
    [...new Set(rows.map(({ provider }) => provider))].map((provider) => [
      provider,
      `${of(provider).filter(({ state }) => state === "down").length} of ${of(provider).length}`,
    ]),
  );
};
const open = async (fault: FaultName, providers: readonly string[] = ["fal", "replicate"]) => {
  harness = await openHarness({ providers });
  harness.simulator.script({ fault, provider: "fal" });
  const { id } = await harness.submit("vidmodel-2.0-fast", INPUT);
  expect(await harness.until(id)).toMatchObject({ status: "succeeded" });
  await harness.eventually(async () => (await downAt()).fal !== "0 of 0", "the routes");
};

for (const [fault, why] of [
  ["401", "rejects the key"],
  ["402", "reports an empty balance"],
] as const)
  test(`the first response of a provider that ${why} closes all its routes and no route of another provider`, async () => {
    await open(fault);
    const { fal, replicate } = await downAt();
    const [down, all] = String(fal).split(" of ");
    expect([down, Number(all) > 1, String(replicate).startsWith("0 of")]).toEqual([all, true, true]);
  });

test("a 403 for one model closes only that route", async () => {
  await open("403");
  expect(String((await downAt()).fal)).toMatch(/^1 of/);
});

test("a successful check of one route reopens all routes of the provider account", async () => {
  await open("401");
  harness.simulator.clearScript();
  const [row] = await (await harness.admin()).listRoutes({ model: null, provider: "fal" });
  const checked = await (await harness.admin()).checkRoute({ id: row?.id ?? "" });
  expect([checked.check.kind, checked.reopened > 1]).toEqual(["works", true]);
  expect(String((await downAt()).fal)).toMatch(/^0 of/);
});

test("a 401 response to a file upload counts as a fault of the provider account", async () => {
  harness = await openHarness();
  const call: CallProvider = async () => ({ kind: "answered", response: answer(401, { detail: "no such key" }) });
  const settings = { fal: { base_url: "https://provider.example", key: "s3cr3t-0123456789" } };
  const providers = createProviders({ settings, isOwned: async () => false, call });
  const upload = { file: blobFile(new Blob(["a clip"])), mime: "video/mp4", ref: "0k3v9x2m-1", n: 1 };
  expect(await providers.upload("fal", 0, upload, new AbortController().signal)).toMatchObject({
    failure: { class: "config_fault" },
    isOfAccount: true,
  });
});
