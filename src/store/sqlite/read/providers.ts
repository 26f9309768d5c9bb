// Reads what the operator has decided of providers and routes: sealed credentials, and routes that are switched off.
import type { Database } from "bun:sqlite";
import type { ProviderKeyRow, StoreReads, SwitchedOff } from "../../store.ts";
import { schemaVersion } from "../migrate.ts";

/** The step of the schema that brought these tables: a copy of before it is read as well, and has nothing in them. */
const SINCE = 2;

export const prepareProviderReads = (db: Database): Pick<StoreReads, "switchedOff" | "providerKeys"> => ({
  switchedOff: async () =>
    schemaVersion(db) < SINCE
      ? []
      : db.query<SwitchedOff, []>("SELECT route_id AS routeId, reason, at_ms AS atMs FROM route_switch ORDER BY route_id").all(),
  providerKeys: async () =>
    schemaVersion(db) < SINCE
      ? []
      : db.query<ProviderKeyRow, []>("SELECT account, id, sealed, set_at_ms AS setAtMs FROM provider_key ORDER BY account").all(),
});
