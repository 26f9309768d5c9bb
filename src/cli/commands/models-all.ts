// `genrouter models --all`: lists every model of the catalogue with its routes.
//
// Each route has the reason why it cannot be used, if there is one.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ModelEntry, modelEntry } from "../../../catalogue/public-model.ts";
import type { Settings } from "../../config/schema.ts";
import { createInventory, type InventoryDeps, NO_STORED_CREDENTIALS, type RouteRow } from "../../routing/inventory.ts";
import { withReads } from "../read-only-store.ts";

/** `reason` is null for an available route. */
export type ListedRoute = { id: string; provider: string; available: boolean; reason: string | null };
export type ListedModel = ModelEntry & { routes: ListedRoute[] };

const reasonOf = ({ state, reason, untilMs }: RouteRow): string | null => {
  switch (state) {
    case "up":
      return null;
    case "off":
      return `disabled: ${reason}`;
    case "ended":
      return reason;
    case "no key":
      return "there is no key of its provider";
    case "down":
      return `down ${reason === null ? "after failures" : `for ${reason}`}${untilMs === null ? "" : `; retried at ${new Date(untilMs).toISOString()}`}`;
  }
};

/** The models of the configured catalogue; a data directory adds disabled routes and route health. */
export const listAll = async (settings: Settings): Promise<ListedModel[]> => {
  const [{ catalogueOf, dialectsOf, completeCatalogue }, { providerFacts }, { DATABASE_FILE }] = await Promise.all([
    import("../../routing/load-catalogue.ts"),
    import("../../providers/providers.ts"),
    import("../../store/sqlite/open.ts"),
  ]);
  const facts = providerFacts(dialectsOf(settings));
  const rowsOver = (simulated: boolean, reads: InventoryDeps["reads"]) =>
    createInventory({
      settings: () => settings,
      simulated,
      facts,
      catalogue: () => catalogueOf(settings, simulated),
      reads,
    }).routes();
  const { dir } = settings.data;
  const rows = existsSync(join(dir, DATABASE_FILE))
    ? await withReads({ dir }, async (reads) => rowsOver((await reads.mode()) === "test", reads))
    : await rowsOver(false, NO_STORED_CREDENTIALS);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const isConfigured = (routeId: string) => !["no key", "off", "ended"].includes(byId.get(routeId)?.state ?? "no key");
  return completeCatalogue(settings).models.map((model) => ({
    ...modelEntry(model, isConfigured),
    routes: model.routes.map(({ id, provider }): ListedRoute => {
      const row = byId.get(id);
      if (!row) return { id, provider, available: false, reason: "available in the simulator only" };
      return { id, provider, available: row.state === "up", reason: reasonOf(row) };
    }),
  }));
};
