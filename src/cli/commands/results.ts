// `genrouter get` and `genrouter download`: show a generation, or wait for it and save its files.
import type { Command } from "commander";
import { type OutputFlags, withOutput } from "../output-paths.ts";
import {
  type ClientFlags,
  clientOf,
  interruptible,
  type JsonFlag,
  type Session,
  withClient,
  withExamples,
  withJson,
} from "../session.ts";
import { progressLine } from "../wait-for-generation.ts";
import { explainResume, finish, waitOf } from "./generate.ts";

type Flags = ClientFlags & JsonFlag;

export const addResults = (program: Command, session: Session): void => {
  const { terminal } = session;
  const look = program
    .command("get <id>")
    .description("show a generation")
    .action(async (id: string, flags: Flags) =>
      interruptible(async (signal) => {
        const client = await clientOf(session, flags);
        const generation = await client.poll(id, { signal, tries: 1 });
        if (flags.json) return terminal.print(JSON.stringify(generation));
        const cost = generation.cost_usd === null ? "" : `  charged $${generation.cost_usd.toFixed(2)}`;
        terminal.print(`${generation.id}  ${generation.model}  ${progressLine(generation, null)}${cost}`);
        if (generation.error) terminal.print(`${generation.error.code}: ${generation.error.message}`);
        for (const url of generation.output?.urls ?? []) terminal.print(url);
      }),
    );
  withExamples(withJson(withClient(look)), "get gen_01k…", "get gen_01k… --json | jq .status");

  const download = withOutput(program.command("download <id>").description("wait for a generation and download its files"))
    .option("--timeout <seconds>", "stop waiting after this time (exit 8); the generation continues")
    .action(async (id: string, flags: Flags & OutputFlags & { timeout?: string }) =>
      interruptible(async (signal) => {
        const wait = await waitOf(flags);
        const client = await clientOf(session, flags);
        const first = await client.poll(id, { signal, tries: 1 });
        try {
          await finish(session, client, first, wait, signal);
        } catch (fault) {
          if (signal.aborted) explainResume(session, first.id, wait);
          throw fault;
        }
      }),
    );
  withExamples(withJson(withClient(download)), "download gen_01k… -o kite.mp4", "download gen_01k… -o results/");
};
