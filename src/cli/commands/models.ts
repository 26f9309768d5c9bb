// `genrouter models`: lists the models that a service can run now, with prices.
import type { Command } from "commander";
import type { Model } from "../../../client/src/client.ts";
import {
  type ClientFlags,
  clientOf,
  interruptible,
  type JsonFlag,
  type Session,
  settingsOf,
  withClient,
  withExamples,
  withJson,
} from "../session.ts";
import { table } from "../terminal.ts";

/** At least two decimals; rates may have more. */
const dollars = (usd: number): string => (Number.isInteger(Math.round(usd * 1e6) / 1e4) ? usd.toFixed(2) : String(usd));

/** `$0.05–0.11 per second`: the range of the published rates. */
const priceText = (model: Model): string => {
  const rates = (model.price?.rates ?? []).map((rate) => rate.usd).sort((a, b) => a - b);
  const [least, most] = [rates[0], rates.at(-1)];
  if (least === undefined || most === undefined) return "";
  return `$${dollars(least)}${most === least ? "" : `–${dollars(most)}`} per ${(model.price?.unit ?? "generation").replaceAll("_", " ")}`;
};

const showAll = async (session: Session, flags: ClientFlags & JsonFlag): Promise<void> => {
  const { terminal } = session;
  const { listAll } = await import("./models-all.ts");
  const list = await listAll(settingsOf(session, flags));
  if (flags.json) return terminal.print(JSON.stringify(list));
  const rows = list.map(({ id, kind, routes }) => {
    const up = routes.filter(({ available }) => available);
    return [id, kind, `${up.length} of ${routes.length}`, up.map(({ provider }) => provider).join(", ")];
  });
  for (const line of table(["MODEL", "KIND", "ROUTES", "CAN RUN AT"], rows)) terminal.print(line);
};

export const addModels = (program: Command, session: Session): void => {
  const { terminal } = session;
  const models = program
    .command("models")
    .description("list the available models")
    .option("--all", "list every model of the catalogue with its routes, available or not; needs no service")
    .action(async (flags: ClientFlags & JsonFlag & { all?: true }) =>
      interruptible(async (signal) => {
        if (flags.all) return showAll(session, flags);
        const list = await (await clientOf(session, flags)).models({ signal, tries: 1 });
        if (flags.json) return terminal.print(JSON.stringify(list));
        const rows = list.map((model) => [model.id, model.kind ?? "", priceText(model), (model.tasks ?? []).join(", ")]);
        for (const line of table(["MODEL", "KIND", "PRICE", "TASKS"], rows)) terminal.print(line);
      }),
    );
  withExamples(
    withJson(withClient(models)),
    "models",
    "models --json | jq -r '.[].id'",
    "models --all --json",
    "models --url https://api.example.com",
  );
};
