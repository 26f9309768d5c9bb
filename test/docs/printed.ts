// Parts of the documents that are printed from the code: statecharts, API errors, settings, models, events and metrics.

import type { TObject, TSchema } from "@sinclair/typebox";
import { type AnyMachine, chartOf } from "../../actors/chart/chart.ts";
import { mermaidOf } from "../../actors/chart/mermaid.ts";
import { circuitBreakerMachine } from "../../actors/circuit-breaker/machine.ts";
import { EFFECT_ON_ENTRY, generationMachine } from "../../actors/generation/machine.ts";
import { ledgerMachine } from "../../actors/ledger.ts";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { modelEntry } from "../../catalogue/public-model.ts";
import { EXIT_TABLE } from "../../src/cli/exit-codes.ts";
import { SettingsSchema } from "../../src/config/schema.ts";
import { API_ERRORS } from "../../src/domain/api-errors.ts";
import { EVENTS } from "../../src/logging/events.ts";
import { METRICS, type Metric } from "../../src/telemetry/metrics.ts";
import { FAULTS } from "../../src/torture/simulation/faults.ts";
import { CROSSINGS } from "../../src/torture/simulation/node-life.ts";
import { benchExtensions, benchList, benchNodes, benchResults, capacity, tenFigures } from "../bench/pages.ts";
import type { Held } from "../security/table.ts";
import { CRITERIA } from "./criteria.ts";
import { growthCheck, growthCosts, growthRates, growthTables, growthWhen } from "./growth.ts";
import { longTable } from "./long.ts";
import { providerTable } from "./providers.ts";
import { routePages } from "./routes.ts";
import { USER_PROMISES } from "./user-promises.ts";

const table = (head: string[], rows: string[][]) =>
  [head, head.map(() => "---"), ...rows]
    .map((row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");

/** A statechart as a Mermaid state diagram, drawn from the machine. */
const diagram = (machine: AnyMachine): string => ["```mermaid", mermaidOf(chartOf(machine)), "```"].join("\n");

/** Every state with its meaning and the events that it handles. */
const states = (machine: AnyMachine): string => {
  const chart = chartOf(machine);
  const answers = (state: string) =>
    chart.transitions
      .filter(({ source }) => source === state)
      .map(({ event, guard, target }) => `${event}${guard ? ` [${guard}]` : ""} → ${target ?? "stays"}`);
  return table(
    ["state", "meaning", "event [guard] → state"],
    chart.states.map(({ id, description }) => [`\`${id}\``, description, answers(id).join("<br>")]),
  );
};

const effectsOnEntry = (): string => {
  const ask = (make: unknown): string => {
    const source = String(make);
    return /ask\.\w+/.exec(source)?.[0] ?? "";
  };
  return table(
    ["state", "effect on entry"],
    Object.entries(EFFECT_ON_ENTRY).map(([leaf, make]) => {
      const asked = (make as (context: unknown) => { type: string } | null)({ current: { n: 1 }, watched: [] });
      return [`\`${leaf}\``, asked ? `\`${asked.type.replace("effect.", "")}\`` : ask(make) || "none; an operator decides"];
    }),
  );
};

const refusals = (): string =>
  table(
    ["HTTP", "code", "when", "Retry-After, s"],
    Object.entries(API_ERRORS).map(([code, rule]) => [
      String(rule.status),
      `\`${code}\``,
      rule.when,
      "retryAfterS" in rule ? String(rule.retryAfterS) : "",
    ]),
  );

const settings = (): string => {
  const rows: string[][] = [];
  for (const [section, schema] of Object.entries(SettingsSchema.properties as Record<string, TSchema>)) {
    const keys = (schema as TObject).properties as Record<string, TSchema> | undefined;
    if (!keys) rows.push([`\`GENROUTER_${section.toUpperCase()}__<ID>__BASE_URL\`, \`…__KEY\``, "", String(schema.description)]);
    else
      for (const [key, value] of Object.entries(keys))
        rows.push([
          `\`GENROUTER_${section.toUpperCase()}__${key.toUpperCase()}\``,
          value.default === undefined ? "none" : `\`${JSON.stringify(value.default)}\``,
          String(value.description ?? ""),
        ]);
  }
  return table(["setting", "default", "what it is"], rows);
};

const models = (): string =>
  table(
    ["model", "kind", "tasks", "routes", "takes", "from USD"],
    builtInCatalogue().models.map((model) => {
      const entry = modelEntry(model, () => true);
      const cheapest = Math.min(...entry.price.rates.map((rate) => rate.usd));
      return [
        `\`${model.id}\``,
        model.kind,
        model.tasks.join(", "),
        model.routes.map((route) => route.id).join(", "),
        Object.keys(entry.options).join(", "),
        `${cheapest} per ${entry.price.unit}`,
      ];
    }),
  );

const events = (): string =>
  table(
    ["line", "level"],
    Object.entries(EVENTS).map(([name, level]) => [name, level]),
  );
const metrics = (): string =>
  table(
    ["metric", "type", "labels", "what it says"],
    Object.entries<Metric>(METRICS).map(([name, { type, labels, help }]) => [
      `\`${name}\``,
      type,
      labels.map((label) => `\`${label}\``).join(", "),
      help,
    ]),
  );
/** The entries of the table in `--help`: a number and its meaning, separated by points or line ends. */
const exits = (): string =>
  table(
    ["exit code", "meaning"],
    [...EXIT_TABLE.matchAll(/(\d+) (.+?)(?= · |$)/gm)].map(([, code = "", meaning = ""]) => [code, meaning]),
  );

/** Links from test/README.md to the files of tests. */
const linksTo = (held: readonly Held[]): string =>
  [...new Set(held.map(([file]) => file))].map((file) => `[${file}](${file})`).join(" · ");

/** Printable parts by the name in the `<!-- printed: name -->` mark of a page. */
export const PRINTED: Readonly<Record<string, () => string>> = {
  routes: routePages,
  providers: providerTable,
  faults: () =>
    table(
      ["fault", "what it means"],
      Object.entries(FAULTS).map(([name, { means }]) => [`\`${name}\``, means]),
    ),
  crossings: () => CROSSINGS.map((crossing) => `\`${crossing}\``).join(" · "),
  "generation diagram": () => diagram(generationMachine),
  "generation states": () => states(generationMachine),
  "generation effects": effectsOnEntry,
  "route-health diagram": () => diagram(circuitBreakerMachine),
  "route-health states": () => states(circuitBreakerMachine),
  "ledger diagram": () => diagram(ledgerMachine),
  "ledger states": () => states(ledgerMachine),
  refusals,
  settings,
  models,
  events,
  metrics,
  exits,
  benches: benchList,
  "bench results": benchResults,
  "ten figures": tenFigures,
  "bench of nodes": benchNodes,
  "bench of extensions": benchExtensions,
  capacity,
  "growth when": growthWhen,
  "growth tables": growthTables,
  "growth costs": growthCosts,
  "growth check": growthCheck,
  "growth rates": growthRates,
  criteria: () =>
    table(
      ["for", "promise", "held by"],
      CRITERIA.map(({ reader, promise, held }) => [reader, promise, linksTo(held)]),
    ),
  "user promises": () =>
    table(
      ["no.", "promise", "held by"],
      USER_PROMISES.map(([promise, ...held], at) => [String(at + 1), promise, linksTo(held)]),
    ),
  "long setting": () => table(["program", "run", "findings", "took", "figures", "when"], longTable()),
};
