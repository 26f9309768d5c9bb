// Prints from the code what the pages say of it: rooms, statecharts, refusals, settings, models and the glossary.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { TObject, TSchema } from "@sinclair/typebox";
import { Glob } from "bun";
import { type AnyMachine, chartOf } from "../../actors/chart/chart.ts";
import { mermaidOf } from "../../actors/chart/mermaid.ts";
import { generationMachine, STANDING } from "../../actors/generation.ts";
import { ledgerMachine } from "../../actors/ledger.ts";
import { routeHealthMachine } from "../../actors/route-health.ts";
import { modelEntry } from "../../catalogue/entry.ts";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { FAULTS } from "../../proof/simulation/faults.ts";
import { CROSSINGS } from "../../proof/simulation/node-life.ts";
import { EXITS } from "../../src/cli/exits.ts";
import { SettingsSchema } from "../../src/config.ts";
import { EVENTS } from "../../src/events.ts";
import { REFUSALS } from "../../src/refusal.ts";
import { METRICS, type Metric } from "../../src/telemetry/list.ts";
import { benchList, benchNodes, benchResults, capacity } from "../bench/pages.ts";
import { CRITERIA } from "./criteria.ts";
import { growthCheck, growthCosts, growthRates, growthTables, growthWhen } from "./growth.ts";
import { longTable } from "./long.ts";
import { providerTable } from "./providers.ts";
import { routePages } from "./routes.ts";

const root = resolve(import.meta.dir, "../..");
const table = (head: string[], rows: string[][]) =>
  [head, head.map(() => "---"), ...rows]
    .map((row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");

/** Every file with its first sentence, by room. */
const rooms = (pattern: string): string => {
  const files = [...new Glob(pattern).scanSync({ cwd: root })].filter((path) => !path.endsWith(".d.ts")).sort();
  const row = (path: string) => {
    const [first = "", second = ""] = readFileSync(join(root, path), "utf8").split("\n");
    const more = second.startsWith("// ") ? ` ${second.slice(3)}` : "";
    const link = /^(src|proof)\//.test(path) ? path.slice(path.indexOf("/") + 1) : `../${path}`;
    return [`[${path}](${link})`, first.replace(/^\/\/ /, "") + more];
  };
  return table(["file", "what it is for"], files.map(row));
};

/** A statechart as a Mermaid state diagram, drawn from the machine itself. */
const diagram = (machine: AnyMachine): string => ["```mermaid", mermaidOf(chartOf(machine)), "```"].join("\n");

/** Every state with what it means, and every event it answers to. */
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

const standing = (): string => {
  const ask = (make: unknown): string => {
    const source = String(make);
    return /ask\.\w+/.exec(source)?.[0] ?? "";
  };
  return table(
    ["state", "asks for"],
    Object.entries(STANDING).map(([leaf, make]) => {
      const asked = (make as (context: unknown) => { type: string } | null)({ current: { n: 1 }, watched: [] });
      return [`\`${leaf}\``, asked ? `\`${asked.type.replace("ask.", "")}\`` : ask(make) || "nothing: a person has to look"];
    }),
  );
};

const refusals = (): string =>
  table(
    ["HTTP", "code", "when", "Retry-After, s"],
    Object.entries(REFUSALS).map(([code, rule]) => [
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
          `\`${JSON.stringify(value.default)}\``,
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
const exits = (): string =>
  table(
    ["exit code", "meaning"],
    [...Object.entries(EXITS), ["the outcome of a write is not known", 70] as const].map(([name, code]) => [String(code), name]),
  );

/** The words of src/terms.ts that are types or constants, with the first sentence of what is said of each. */
const glossary = (): string => {
  const text = readFileSync(join(root, "src/terms.ts"), "utf8");
  const rows = [...text.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport (?:type|const) (\w+)/g)].map((match) => {
    const said = (match[1] ?? "").replace(/\n \*/g, " ").replace(/\s+/g, " ").trim();
    return [`\`${match[2]}\``, said];
  });
  return table(["word", "meaning"], rows);
};

/** What a page can have printed into it, by the name in its `<!-- printed: name -->` mark. */
export const PRINTED: Readonly<Record<string, () => string>> = {
  "rooms src": () => rooms("src/**/*.ts"),
  "rooms actors": () => rooms("actors/**/*.ts"),
  "rooms catalogue": () => rooms("catalogue/*.ts"),
  routes: routePages,
  providers: providerTable,
  "rooms proof": () => rooms("proof/**/*.ts"),
  faults: () =>
    table(
      ["fault", "what it means"],
      Object.entries(FAULTS).map(([name, { means }]) => [`\`${name}\``, means]),
    ),
  crossings: () => CROSSINGS.map((crossing) => `\`${crossing}\``).join(" · "),
  "generation diagram": () => diagram(generationMachine),
  "generation states": () => states(generationMachine),
  "generation standing": standing,
  "route-health diagram": () => diagram(routeHealthMachine),
  "route-health states": () => states(routeHealthMachine),
  "ledger diagram": () => diagram(ledgerMachine),
  "ledger states": () => states(ledgerMachine),
  refusals,
  settings,
  models,
  events,
  metrics,
  exits,
  glossary,
  benches: benchList,
  "bench results": benchResults,
  "bench of nodes": benchNodes,
  capacity,
  "growth when": growthWhen,
  "growth tables": growthTables,
  "growth costs": growthCosts,
  "growth check": growthCheck,
  "growth rates": growthRates,
  criteria: () =>
    table(
      ["", "promise", "held by"],
      CRITERIA.map(({ name, promise, held }) => [
        name,
        promise,
        [...new Set(held.map(([file]) => file))].map((file) => `[${file}](${file})`).join(" · "),
      ]),
    ),
  "long setting": () => table(["programme", "run", "findings", "took", "figures", "when"], longTable()),
};
