// Audit log endpoint of the console API, filtered by user, kind of change, object and time.
//
// Entries are returned newest first.

import type { StoreReads } from "../store/store.ts";
import type { AuditFilters } from "../store/user-reads.ts";
import { ConsoleRefused, type ConsoleRoute } from "./request-context.ts";
import type { AuditView } from "./users-dto.ts";

const PAGE = 50;
const TEXTS = ["actor", "action", "target"] as const;
const TIMES = ["fromMs", "toMs"] as const;

const wholeOf = (name: string, text: string): number => {
  if (!/^\d{1,15}$/.test(text)) throw new ConsoleRefused("invalid", `${name}: a whole number.`);
  return Number(text);
};

const filtersOf = (query: URLSearchParams): AuditFilters => {
  const filters: AuditFilters = {};
  for (const name of TEXTS) {
    const text = query.get(name);
    if (text) filters[name] = text;
  }
  for (const name of TIMES) {
    const text = query.get(name);
    if (text) filters[name] = wholeOf(name, text);
  }
  return filters;
};

export const auditRoutes = ({ reads }: { reads: Pick<StoreReads, "audit"> }): ConsoleRoute[] => [
  {
    method: "GET",
    path: "/console/api/operator/audit",
    who: "viewer",
    answer: async ({ query }): Promise<AuditView> => {
      const before = query.get("before");
      const lines = await reads.audit(before ? wholeOf("before", before) : null, PAGE + 1, filtersOf(query));
      const shown = lines.slice(0, PAGE);
      return { lines: shown, before: lines.length > PAGE ? (shown.at(-1)?.seq ?? null) : null };
    },
  },
];
