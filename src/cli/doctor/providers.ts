// Doctor checks of providers: catalogue, credentials, available routes and margins.

import type { Catalogue } from "../../../catalogue/load.ts";
import { endingRoutes, endingText } from "../../../catalogue/route-end-dates.ts";
import type { Settings } from "../../config/schema.ts";
import { SET_UP_FAULTS } from "../../domain/types.ts";
import { sourceInSettings, withKeys } from "../../providers/credentials.ts";
import { providerFacts } from "../../providers/providers.ts";
import { createVault } from "../../providers/vault.ts";
import { createInventory, NO_STORED_CREDENTIALS, type ProviderRow, type RouteRow } from "../../routing/inventory.ts";
import { catalogueOf, dialectsOf, requireKnownProviders } from "../../routing/load-catalogue.ts";
import type { StoreReads } from "../../store/store.ts";
import { counted } from "../backup-text.ts";
import { type Finding, fault, ok, textOf, warning } from "./finding.ts";

const NAMED = 3;
const SET_KEY =
  "the console's page Providers (Set key), or genrouter providers set-key PROVIDER; genrouter providers list prints the ids";

/** Checks each key separately, so that an unreadable one does not hide the others. */
const keyFindings = async (settings: Settings, reads: Pick<StoreReads, "providerKeys">): Promise<Finding[]> => {
  const kept = await reads.providerKeys();
  const vault = createVault(settings.data.dir, settings.store.url !== "");
  const findings: Finding[] = [];
  let readable = 0;
  const look = (account: string, work: () => unknown) => {
    try {
      work();
      readable += 1;
    } catch (thrown) {
      findings.push(fault("keys", textOf(thrown), `genrouter providers set-key ${account}`));
    }
  };
  for (const row of kept)
    if (sourceInSettings(settings, row.account) === undefined) look(row.account, () => vault.open(row.account, row));
  for (const [id, section] of Object.entries(settings.providers))
    if (section.key !== undefined || section.key_file !== undefined)
      look(id, () => withKeys({ ...settings, providers: { [id]: section } }, [], vault));
  if (readable > 0) findings.push(ok("keys", `${counted(readable, "provider key")} can be read`));
  else if (findings.length === 0) findings.push(warning("keys", "no provider has a key", SET_KEY));
  return findings;
};

/** True if the provider rejects the credential or its balance is used up. */
const isRefused = ({ reason }: RouteRow): boolean => SET_UP_FAULTS.some((name) => reason?.startsWith(`${name}: `));

/** If a configured credential is rejected, a stored one would not apply, so the remedy names the configuration. */
const cureOf = (reason: string, id: string, provider: ProviderRow | undefined): string => {
  if (reason.startsWith("balance: ")) return `add credit with the provider, then genrouter routes test ${id}`;
  const account = provider?.account ?? "PROVIDER";
  if (provider?.key && provider.key.from !== "vault")
    return `correct the key of ${account} in the settings (genrouter config print shows the source) and reload the service`;
  return `genrouter providers set-key ${account}; genrouter routes test ${id} checks it`;
};

/** One finding per provider and reason, because a rejected credential disables all of its routes. */
const refusedFindings = (refused: readonly RouteRow[], providers: readonly ProviderRow[]): Finding[] =>
  [...Map.groupBy(refused, ({ provider, reason }) => `${provider} ${reason}`).values()].flatMap((routes) => {
    const [first] = routes;
    if (!first?.reason) return [];
    const which = routes.length === 1 ? first.id : `${counted(routes.length, "route")} of ${first.provider}`;
    const provider = providers.find(({ id }) => id === first.provider);
    const says = `${which} ${routes.length === 1 ? "is" : "are"} down: ${first.reason}`;
    return [fault("routes", says, cureOf(first.reason, first.id, provider))];
  });

/** Routes whose provider has announced an end date that is near or past. */
const endingFindings = (catalogue: Catalogue, nowMs: number): Finding[] =>
  endingRoutes(catalogue.models, nowMs).map((ending) =>
    warning(
      "routes",
      `${ending.routeId}: ${endingText(ending)}`,
      "add its successor to the catalogue, or take a newer release: genrouter catalogue diff",
    ),
  );

const routeFindings = async (
  settings: Settings,
  mode: "test" | "live" | null,
  reads: typeof NO_STORED_CREDENTIALS,
): Promise<Finding[]> => {
  const simulated = mode === "test";
  const inventory = createInventory({
    ...{ settings: () => settings, simulated, reads },
    facts: providerFacts(dialectsOf(settings)),
    catalogue: () => catalogueOf(settings, simulated),
  });
  const routes = await inventory.routes();
  const of = (state: string) => routes.filter((route) => route.state === state);
  const [up, down, off] = [of("up"), of("down"), of("off")];
  const losing = [...up, ...down].filter(({ margin }) => margin !== null && margin.leastPercent < 0);
  const findings: Finding[] = [];
  const configured = up.length + down.length;
  if (configured === 0)
    findings.push(
      // Expected if nothing has been set up yet.
      (mode === null ? warning : fault)(
        "routes",
        `none of ${routes.length} is available: routes lack a key or are off`,
        "the console's page Providers (Set key), genrouter providers set-key PROVIDER, or start with --simulate",
      ),
    );
  else if (up.length === 0)
    findings.push(fault("routes", `all ${configured} with a key are down`, "genrouter routes list; genrouter routes test ROUTE"));
  else findings.push(ok("routes", `${configured} with a key, ${up.length} up`));
  const refused = down.filter(isRefused);
  findings.push(...refusedFindings(refused, await inventory.providers()));
  const failing = down.filter((route) => !isRefused(route));
  for (const { id, reason } of failing.slice(0, NAMED))
    findings.push(warning("routes", `${id} is down: ${reason ?? "several consecutive failures"}`, `genrouter routes test ${id}`));
  if (failing.length > NAMED)
    findings.push(warning("routes", `${failing.length - NAMED} more are down`, "genrouter routes list"));
  for (const { id, reason } of off.slice(0, NAMED))
    findings.push(
      warning("routes", `${id} is off: ${reason}`, `genrouter routes enable ${id} when the reason no longer applies`),
    );
  findings.push(...endingFindings(catalogueOf(settings, simulated), Date.now()));
  if (losing.length > 0)
    findings.push(
      warning(
        "routes",
        `${losing.length} can cost more than their price: ${losing
          .slice(0, NAMED)
          .map(({ id }) => id)
          .join(", ")}`,
        "genrouter routes list; genrouter routes disable ROUTE",
      ),
    );
  return findings;
};

/** @param reads store of the data directory; null if there is none. */
export const providerFindings = async (
  settings: Settings,
  mode: "test" | "live" | null,
  reads: StoreReads | null,
): Promise<Finding[]> => {
  const simulated = mode === "test";
  try {
    requireKnownProviders(settings, dialectsOf(settings));
    const { models } = catalogueOf(settings, simulated);
    const catalogue = ok("catalogue", `${counted(models.length, "model")}, ${settings.catalogue.dir || "built-in"}`);
    const keys = simulated ? [] : await keyFindings(settings, reads ?? NO_STORED_CREDENTIALS);
    return [catalogue, ...keys, ...(await routeFindings(settings, mode, reads ?? NO_STORED_CREDENTIALS))];
  } catch (thrown) {
    return [fault("catalogue", textOf(thrown), "correct the file or setting in the message")];
  }
};
