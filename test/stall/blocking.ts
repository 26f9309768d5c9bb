// A test file that the meter fails: a harness whose service blocks the loop. Run by stall.test.ts, which says for how long and how.
import { test } from "bun:test";
import { openHarness } from "../harness.ts";
import { compute } from "./compute.ts";
import { stall } from "./harness.ts";

const { STALL_MS = "400", STALL_BY = "computing" } = process.env;

const WAYS: Record<string, () => void> = {
  computing: () => compute(Number(STALL_MS)),
  waiting: () => Bun.sleepSync(Number(STALL_MS)),
  // Held up from outside: the process is stopped, and goes on when its parent says so.
  stopped: () => process.kill(process.pid, "SIGSTOP"),
};

test("a request is answered late", async () => {
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
