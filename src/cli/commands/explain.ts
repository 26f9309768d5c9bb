// `genrouter explain`: prints the quote and plan of a request without submitting it.
//
// It lists routes, prices and the reasons why routes are skipped.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { createCircuitBreakers } from "../../../actors/circuit-breaker/registry.ts";
import type { Settings } from "../../config/schema.ts";
import { systemClock } from "../../domain/clock.ts";
import { didYouMean } from "../../domain/suggestions.ts";
import type { GivenAs, JsonObject, Measured, MediaLink } from "../../domain/types.ts";
import { createCannotGive } from "../../inputs/cannot-give.ts";
import { isShortForm } from "../../inputs/own-links.ts";
import type { Giving } from "../../inputs/provider-inputs.ts";
import { checkInput, checkMeasured } from "../../quote/check-input.ts";
import { type ConsideredRoute, type Explanation, explainPlan, plannedFiles } from "../../quote/plan.ts";
import { priceRoutes } from "../../quote/price.ts";
import { createRouteTable, MAX_STORED_DELIVERIES } from "../../routing/route-table.ts";
import type { ProviderKeyRow } from "../../store/store.ts";
import { CommandError, EXITS, exitOfStatus } from "../exit-codes.ts";
import { inputOf, parseObject, withFields } from "../input-flags.ts";
import { withReads } from "../read-only-store.ts";
import {
  type DirFlag,
  type JsonFlag,
  parseWhole,
  type Session,
  settingsOf,
  withDir,
  withExamples,
  withJson,
} from "../session.ts";
import { table } from "../terminal.ts";
import { parseUsd, showUsd, usdNumber } from "../usd.ts";

type Flags = DirFlag & JsonFlag & { catalogue?: string; maxCostUsd?: string; maxWaitS?: string };

/** State of the routes in addition to the catalogue: health, durations, and whether the simulator is used. */
type Known = {
  switchedOff: Map<string, string>;
  health: Map<string, string>;
  deliveries: Map<string, number[]>;
  simulated: boolean;
  /** Provider accounts with a stored credential. */
  keys: ProviderKeyRow[];
};

/** §2.5: the default of `max_cost_usd`. */
const MAX_COST_CREDITS = 10_000;

const NOTHING_KNOWN: Known = { switchedOff: new Map(), health: new Map(), deliveries: new Map(), simulated: false, keys: [] };

const knownOf = async (dir: string): Promise<Known> => {
  const { DATABASE_FILE } = await import("../../store/sqlite/open.ts");
  if (!(await Bun.file(join(dir, DATABASE_FILE)).exists())) return NOTHING_KNOWN;
  return withReads({ dir }, async (reads) => ({
    switchedOff: new Map((await reads.switchedOff()).map(({ routeId, reason }) => [routeId, reason])),
    health: await reads.routeHealth(),
    deliveries: await reads.recentDeliveries(MAX_STORED_DELIVERIES),
    simulated: (await reads.mode()) === "test",
    keys: await reads.providerKeys(),
  }));
};

/** Providers with a credential. If there is none at all, those of the simulator, as with `serve --simulate`. */
const keyed = async (settings: Settings, known: Known) => {
  const [{ NO_STORED_CREDENTIALS, createInventory }, { catalogueOf, dialectsOf }, { providerFacts }] = await Promise.all([
    import("../../routing/inventory.ts"),
    import("../../routing/load-catalogue.ts"),
    import("../../providers/providers.ts"),
  ]);
  const reads = { ...NO_STORED_CREDENTIALS, providerKeys: async () => known.keys };
  const over = async (simulated: boolean) => {
    const catalogue = catalogueOf(settings, simulated);
    const facts = providerFacts(dialectsOf(settings));
    const rows = await createInventory({
      settings: () => settings,
      simulated,
      facts,
      catalogue: () => catalogue,
      reads,
    }).providers();
    return { simulated, catalogue, providers: new Set(rows.filter(({ key }) => key !== null).map(({ id }) => id)) };
  };
  const own = await over(known.simulated);
  return own.providers.size > 0 ? own : over(true);
};

/** How each provider would receive files, by the service's settings. */
const givingOf = async (settings: Settings, simulated: boolean): Promise<Giving> => {
  const [{ createProviderInputs }, { fileTraitsOf, knownDialects }, { dialectsOf }] = await Promise.all([
    import("../../inputs/provider-inputs.ts"),
    import("../../providers/providers.ts"),
    import("../../routing/load-catalogue.ts"),
  ]);
  const spoken = new Map(knownDialects(dialectsOf(settings)));
  const { host, port, public_url: publicUrl } = settings.server;
  const ownUrl = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return createProviderInputs({
    ...{ links: settings.files.provider_links, publicUrl, ownUrl: () => ownUrl },
    providers: {
      baseUrlOf: (id) => settings.providers[id]?.base_url ?? (simulated ? "http://127.0.0.1" : (spoken.get(id)?.publicUrl ?? "")),
      fileTraits: (id) => {
        const known = spoken.get(id);
        return known ? fileTraitsOf(known.adapter) : { takesLinks: true, forms: [] };
      },
    },
  });
};

/** The stored files that an input names by their short forms, as the store of the service records them. */
const storedIn = async (dir: string, links: readonly MediaLink[]): Promise<Measured[]> => {
  const own = links.filter(({ isOwn }) => isOwn);
  if (own.length === 0) return [];
  const missing = ({ field, url }: MediaLink): never => {
    throw new CommandError(EXITS.refused, `${field}: no stored file has the id ${url}`, { code: "invalid_input" });
  };
  return withReads({ dir }, (reads) =>
    Promise.all(
      own.map(async (link): Promise<Measured> => {
        const { field, url } = link;
        const [, result, n] = /^(gen_[^/]+)\/(\d+)$/.exec(url) ?? [];
        if (result === undefined) {
          const file = await reads.uploadedFile(url);
          if (!file) return missing(link);
          const { kind, ms, width, height, bytes } = file;
          const shown = width === undefined || height === undefined ? {} : { width, height };
          return { field, url, kind, bytes, ...(ms === undefined ? {} : { ms }), ...shown };
        }
        const output = (await reads.findGeneration(result))?.output;
        const file = output?.files.find((one) => one.n === Number(n));
        if (!output || !file) return missing(link);
        const { kind, width, height, durationMs } = output;
        const shown = width === undefined || height === undefined ? {} : { width, height };
        return { field, url, kind, bytes: file.bytes, ...(durationMs === undefined ? {} : { ms: durationMs }), ...shown };
      }),
    ),
  );
};

/** Measures media like a submission does, with a private directory for spooled data. */
const measure = async (settings: Settings, links: readonly MediaLink[]): Promise<Measured[]> => {
  if (links.length === 0) return [];
  const [{ createMedia }, { createSandbox }, { readAllowed }, { createLocalStorage }, { createSpool }] = await Promise.all([
    import("../../media/media.ts"),
    import("../../media/sandbox/sandbox.ts"),
    import("../../media/host-allowlist.ts"),
    import("../../files/local.ts"),
    import("../../files/inline-spool.ts"),
  ]);
  const spool = mkdtempSync(join(tmpdir(), "genrouter-explain-"));
  const sandbox = createSandbox({ workers: settings.media.workers });
  try {
    const media = createMedia({
      files: await createLocalStorage(spool),
      spool: await createSpool(join(spool, "spool"), Date.now),
      keyFor: () => ({}),
      allows: readAllowed(settings.media.allow),
      allowsResult: () => false,
      resultBytes: settings.limits.result_bytes,
      budget: { bytes: settings.media.read_bytes },
      sandbox,
    });
    return await media.measure(links, "");
  } finally {
    await sandbox.close();
    rmSync(spool, { recursive: true, force: true });
  }
};

const explain = async (
  settings: Settings,
  modelId: string,
  input: JsonObject,
  maxCostCredits: number,
  maxWaitMs: number | null,
) => {
  const known = await knownOf(settings.data.dir);
  const { simulated, catalogue, providers } = await keyed(settings, known);
  const model = catalogue.model(modelId);
  if (!model)
    throw new CommandError(EXITS.refused, `there is no model ${modelId} in the catalogue`, {
      fix: [
        didYouMean(
          modelId,
          catalogue.models.map(({ id }) => id),
        ),
        "genrouter models --all lists its models",
      ]
        .filter(Boolean)
        .join(" "),
      code: "model_not_available",
    });
  const { readAllowed } = await import("../../media/host-allowlist.ts");
  // A link of the service names no account here, so stored files are named by their short forms.
  const checked = checkInput(model, input, readAllowed(settings.media.allow), isShortForm);
  const stored = await storedIn(settings.data.dir, checked.links);
  const read = await measure(
    settings,
    checked.links.filter(({ isOwn }) => !isOwn),
  );
  const measured = checked.links.flatMap(({ field }) => [...stored, ...read].find((one) => one.field === field) ?? []);
  checkMeasured(model, checked, measured);

  const health = createCircuitBreakers(systemClock(), known.health, () => undefined);
  const routes = createRouteTable({
    catalogue,
    health,
    sharingKey: (provider) => [provider],
    isConfigured: (provider) => providers.has(provider),
    switchedOff: known.switchedOff,
    watchMs: () => 0,
    maxRunningPerRoute: settings.limits.max_running_per_route,
    deliveries: known.deliveries,
    nowMs: Date.now,
  });
  const giving = await givingOf(settings, simulated);
  const isTrusting = settings.media.unpinned === "trust";
  const explanation = explainPlan({
    model,
    checked,
    measured,
    prices: priceRoutes(model, checked, measured),
    maxCostCredits,
    maxWaitMs,
    routeState: routes.state,
    expectedMs: routes.expectedMs,
    cannotGive: createCannotGive(giving, isTrusting),
  });
  health.stop();
  const own = plannedFiles({ model, checked, measured }).filter(({ of }) => of === "stored" || (of === "pinned" && !isTrusting));
  /** How the provider of a route receives the files that it gets from this service; empty if there are none. */
  const givenBy = (routeId: string): GivenAs[] => {
    const provider = model.routes.find(({ id }) => id === routeId)?.provider;
    if (provider === undefined || own.length === 0) return [];
    const choice = giving.choose(provider, own);
    return "forms" in choice ? [...new Set(choice.forms.map(({ as }) => as))] : [];
  };
  return { explanation, filled: checked.filled, measured, simulated, givenBy };
};

/** The considered routes, first those of the plan in its order; `rank` is the position in the plan. */
const ranked = (explanation: Explanation): { rank: number | null; route: ConsideredRoute }[] => {
  const order = "plan" in explanation ? explanation.plan.routes.map(({ routeId }) => routeId) : [];
  const place = (route: ConsideredRoute) => order.indexOf(route.routeId);
  const planned = explanation.considered.filter((route) => place(route) >= 0).sort((a, b) => place(a) - place(b));
  const skipped = explanation.considered.filter((route) => place(route) < 0);
  return [...planned.map((route, at) => ({ rank: at + 1, route })), ...skipped.map((route) => ({ rank: null, route }))];
};

export const addExplain = (program: Command, session: Session): void => {
  const { terminal } = session;
  const command = program
    .command("explain <model> [input]")
    .description(
      "print the quote and the plan of a request without submitting it: routes, prices and skipped routes with the reason",
    )
    .option("--max-cost-usd <usd>", "as in the request")
    .option("--max-wait-s <seconds>", "as in the request")
    .option("--catalogue <dir>", "directory with models/ to use instead of the built-in catalogue")
    .action(async (model: string, json: string | undefined, flags: Flags) => {
      const settings = settingsOf(session, flags);
      if (flags.catalogue !== undefined) settings.catalogue.dir = flags.catalogue;
      const input = { ...(json === undefined ? {} : parseObject(json, "INPUT")), ...inputOf(flags) };
      const maxCostCredits = flags.maxCostUsd === undefined ? MAX_COST_CREDITS : parseUsd(flags.maxCostUsd, "--max-cost-usd");
      const maxWaitMs = flags.maxWaitS === undefined ? null : parseWhole(flags.maxWaitS, "--max-wait-s", 1, 86_400) * 1000;
      const { explanation, filled, measured, simulated, givenBy } = await explain(
        settings,
        model,
        input,
        maxCostCredits,
        maxWaitMs,
      );
      const refusal = "refusal" in explanation ? explanation.refusal : null;
      if (refusal) session.exit = exitOfStatus(refusal.status);
      const rows = ranked(explanation);
      if (flags.json)
        return terminal.print(
          JSON.stringify({
            model,
            input: filled,
            measured,
            routes: rows.map(({ rank, route }) => ({
              route: route.routeId,
              rank,
              price_usd: route.priceCredits === null ? null : usdNumber(route.priceCredits),
              expected_s: route.expectedMs / 1000,
              verdict: route.verdict,
              ...(givenBy(route.routeId).length === 0 ? {} : { files_by: givenBy(route.routeId) }),
            })),
            quoted_usd: "plan" in explanation ? usdNumber(explanation.plan.quotedCredits) : null,
            reserved_usd: "plan" in explanation ? usdNumber(explanation.plan.reservedCredits) : null,
            refusal: refusal && { status: refusal.status, code: refusal.code, message: refusal.message },
          }),
        );
      if (simulated) terminal.note("every provider counts as configured, as with the simulator");
      for (const { field, ms, width, height } of measured)
        terminal.print(`${field}  ${ms === undefined ? "" : `${ms / 1000} s  `}${width ? `${width}×${height}` : ""}`.trimEnd());
      const cells = rows.map(({ rank, route }) => [
        rank === null ? "–" : String(rank),
        route.routeId,
        route.priceCredits === null ? "–" : showUsd(route.priceCredits),
        `${Math.round(route.expectedMs / 1000)} s`,
        givenBy(route.routeId).length === 0
          ? route.verdict
          : `${route.verdict}; its files by ${givenBy(route.routeId).join(", ")}`,
      ]);
      for (const line of table(["TRY", "ROUTE", "PRICE", "EXPECTED", "VERDICT"], cells, [0, 2, 3])) terminal.print(line);
      if ("plan" in explanation)
        terminal.print(
          `quoted ${showUsd(explanation.plan.quotedCredits)} (the first)  held while it runs ${showUsd(explanation.plan.reservedCredits)} (the most expensive)`,
        );
      if (refusal) terminal.print(`refused ${refusal.status} ${refusal.code}: ${refusal.message}`);
    });
  withExamples(
    withJson(withDir(withFields(command))),
    `explain vidmodel-2.0 '{"prompt":"a red kite","resolution":"720p","duration":5}'`,
    "explain vidmodel-2.0-fast --prompt x --duration 4 --max-cost-usd 0.50 --json | jq '.routes[]'",
  );
};
