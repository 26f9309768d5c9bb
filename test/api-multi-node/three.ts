// Runs a file of scenarios on three nodes over one PostgreSQL and one bucket, behind a round-robin load balancer.
import { describe } from "bun:test";
import { openHarnessOfNodes } from "../harness-nodes.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { onNodes } from "./request.ts";

/** @param load a function that defines the scenarios. */
export const onThreeNodes = (load: () => unknown): void => {
  if (postgresReason === undefined) onNodes(3, openHarnessOfNodes);
  else process.stdout.write(`skipped: scenarios on three nodes (${postgresReason})\n`);
  describe.skipIf(postgresReason !== undefined)("on three nodes", () => {
    load();
  });
};
