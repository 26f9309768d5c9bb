// Queries of stored provider credentials and disabled routes.
import type { ProviderKeyRow, StoreReads, SwitchedOff } from "../../store.ts";
import type { Query } from "../sql-program.ts";

const OFF = 'SELECT route_id AS "routeId", reason, at_ms AS "atMs" FROM disabled_route ORDER BY route_id';
const KEYS = 'SELECT account, id, sealed, set_at_ms AS "setAtMs" FROM provider_credential ORDER BY account';

export const providerReads = (query: Query): Pick<StoreReads, "switchedOff" | "providerKeys"> => ({
  switchedOff: () => query<SwitchedOff>(OFF),
  providerKeys: () => query<ProviderKeyRow>(KEYS),
});
