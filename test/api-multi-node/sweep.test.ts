// Test of the file sweep in a cluster: only the first node deletes files past their retention.
import { expect, test } from "bun:test";
import { openHarnessOfNodes } from "../harness-nodes.ts";
import { postgresReason } from "../postgres/binaries.ts";

const WEEK_MS = 7 * 86_400_000;

test.skipIf(postgresReason !== undefined)(
  "a node deletes expired files only after it has become the first node",
  async () => {
    const harness = await openHarnessOfNodes(2, { factor: 20 });
    const [first, second] = harness.each;
    if (!first || !second) throw new Error("expected two nodes");
    const { id } = await harness.submit("sim-image-1", { prompt: "a kite" });
    await harness.until(id);
    harness.clock.skip(WEEK_MS + 1000);
    await harness.synchronize();
    const expiredAtMs = async () => (await second.store.findGeneration(id))?.filesExpiredAtMs;
    await second.components.sweep();
    expect(await expiredAtMs()).toBeNull();
    await first.crash();
    await second.components.leaseKeeper?.look();
    await second.components.sweep();
    expect(await expiredAtMs()).toBeNumber();
    await harness.crash();
  },
  60_000,
);
