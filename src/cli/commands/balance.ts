// `genrouter balance`: shows the balance of the account of an API key, and what is left of the limits of the key.
import type { Command } from "commander";
import type { Balance } from "../../../client/src/client.ts";
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
import { table } from "../terminal.ts";
import { creditsOf, showUsd } from "../usd.ts";

type Flags = ClientFlags & JsonFlag;

const usd = (amount: number): string => showUsd(creditsOf(amount));

const linesOf = ({ balance_usd, held_usd, available_usd, owed_usd, limits }: Balance): string[] => {
  const owed = owed_usd > 0 ? `  owed ${usd(owed_usd)}` : "";
  const balance = `balance ${usd(balance_usd)}  held ${usd(held_usd)}  available ${usd(available_usd)}${owed}`;
  if (limits.length === 0) return [balance];
  const rows = limits.map((limit) => [
    ...[limit.window, usd(limit.limit_usd), usd(limit.spent_usd), usd(limit.left_usd), limit.resets_at],
  ]);
  return [balance, ...table(["KEY LIMIT", "USD", "SPENT", "LEFT", "RESETS"], rows, [1, 2, 3])];
};

export const addBalance = (program: Command, session: Session): void => {
  const { terminal } = session;
  const balance = program
    .command("balance")
    .description("show the balance of the account and the limits of the API key")
    .action(async (flags: Flags) =>
      interruptible(async (signal) => {
        const found = await (await clientOf(session, flags)).balance({ signal, tries: 1 });
        if (flags.json) return terminal.print(JSON.stringify(found));
        for (const line of linesOf(found)) terminal.print(line);
      }),
    );
  withExamples(withJson(withClient(balance)), "balance", "balance --json | jq .available_usd");
};
