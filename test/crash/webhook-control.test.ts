// The webhook audit of the crash program finds a service whose deliveries are wrong.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { casesOfShare } from "../case-share.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { playWebhookControl, WEBHOOK_CONTROLS } from "./webhook-control.ts";

setDefaultTimeout(150_000);
afterAll(dropDirs);

for (const control of casesOfShare("controls of webhooks", WEBHOOK_CONTROLS, ({ name }) => name))
  test(`the audit fails if ${control.name}`, async () => {
    const seed = Date.now() % 1_000_000;
    const say = (line: string) => process.stdout.write(`  seed ${seed}: ${line}\n`);
    expect(await playWebhookControl(control, { dir: freshDir(), seed, say })).toMatchObject({ faults: [] });
  });
