// Test file with a service that blocks the event loop, for stall.test.ts.
//
// STALL_BY and STALL_MS say how and for how long.
import { test } from "bun:test";
import { openHarness } from "../harness.ts";
import { compute } from "./compute.ts";
import { stall } from "./harness.ts";

const { STALL_MS = "400", STALL_BY = "computing" } = process.env;

const WAYS: Record<string, () => void> = {
  computing: () => compute(Number(STALL_MS)),
  waiting: () => Bun.sleepSync(Number(STALL_MS)),
  // The process stops itself until its parent sends SIGCONT.
  stopped: () => process.kill(process.pid, "SIGSTOP"),
};

test("answers a request after the event loop was blocked", async () => {
  const harness = await openHarness({
    factor: 0,
    around: (store) => ({
      ...store,
      account: (...words) => {
        if (STALL_BY in WAYS) WAYS[STALL_BY]?.();
        return store.account(...words);
      },
    }),
  });
  const look = () => harness.store.account(harness.tenant.accountId);
  if (STALL_BY === "the test") await stall.pause(() => WAYS.computing?.());
  await look();
  await harness.close();
});
