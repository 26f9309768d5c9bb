// `genrouter torture`: crash cycles of this very program on the operator's own disk, and its hidden client process.
import type { Command } from "commander";
import { type Session, withExamples } from "../session.ts";

export const addTorture = (program: Command, session: Session): void => {
  const client = program
    .command("torture-client", { hidden: true })
    .description("the load of the torture, as a process of its own")
    .argument("<plan>", "file with its plan")
    .action(async (plan: string) => {
      const { runClient } = await import("../../../proof/crash/client.ts");
      await runClient(plan);
      session.exit = 0;
    });
  withExamples(client, "torture-client plan.json");
};
