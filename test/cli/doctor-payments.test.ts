// `genrouter doctor` on payments: incomplete settings, a key of the wrong mode, and mismatched payments.
import { afterAll, test } from "bun:test";
import { openAccount } from "../store/fixture.ts";
import { openDirectory } from "../store/open-store.ts";
import { openPurchaseMutation, payMutation } from "../store/purchases.ts";
import { doctor, has, KEYED } from "./diagnosis.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

const directory = async (mode: "test" | "live"): Promise<string> => {
  const dir = freshDir();
  await (await openDirectory({ dir, mode })).close();
  return dir;
};

test("doctor reports incomplete payment settings and a key of the wrong mode, and accepts complete ones", async () => {
  const dir = await directory("live");
  const [live, trial] = ["sk_live_abcdefgh12345678", "sk_test_abcdefgh12345678"];
  const whole = (key: string) => ({
    ...KEYED,
    GENROUTER_STRIPE__SECRET_KEY: key,
    GENROUTER_STRIPE__WEBHOOK_SECRET: "whsec_canary-key",
  });
  const { GENROUTER_STRIPE__WEBHOOK_SECRET: secret, ...keyOnly } = whole(live);
  has(await doctor(dir, keyOnly), "payments", "fault", /WEBHOOK_SECRET: is missing/, /genrouter config check/);
  const secretOnly = { ...KEYED, GENROUTER_STRIPE__WEBHOOK_SECRET: secret };
  has(await doctor(dir, secretOnly), "payments", "fault", /SECRET_KEY: is missing/);
  has(await doctor(dir, whole(live)), "payments", "warning", /receipts name no seller/, /SELLER_NAME/);
  const named = { GENROUTER_CREDITS__SELLER_NAME: "Ada Ltd", GENROUTER_CREDITS__SELLER_ADDRESS: "1 Main St\nSpringfield" };
  has(await doctor(dir, { ...whole(live), ...named }), "payments", "ok", /through Stripe/);
  has(
    await doctor(dir, { ...whole(live), ...named, GENROUTER_CREDITS__SELLER_ADDRESS: "" }),
    "payments",
    "fault",
    /SELLER_ADDRESS: is missing/,
  );
  has(await doctor(dir, whole(trial)), "payments", "warning", /no money moves/, /sk_live_/);
  const simulated = await directory("test");
  has(await doctor(simulated, whole(live)), "payments", "fault", /a live key would charge customers for simulated results/);
  has(await doctor(simulated, whole(trial)), "payments", "ok", /through Stripe/);
});

test("doctor warns of a mismatched payment for thirty days", async () => {
  const dir = await directory("live");
  const store = await openDirectory({ dir, mode: "live" });
  const { seq } = await openAccount(store, 0);
  const nowMs = Date.now();
  for (const [name, atMs] of [
    ["a", nowMs],
    ["b", nowMs - 2_600_000_000],
  ] as const)
    await store.commit([{ ...openPurchaseMutation(seq, name, 1000), atMs, expiresAtMs: atMs + 1 }, payMutation(name, 900)]);
  await store.close();
  has(await doctor(dir), "payments", "warning", /^1 purchase of the last 30 days/, /genrouter purchases list --state mismatched/);
});
