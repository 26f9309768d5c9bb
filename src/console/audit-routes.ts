// Audit log endpoint of the console API, filtered by user, kind of change, target and time.
//
// Entries are returned newest first.

import type { AuditFilters } from "../store/user-reads.ts";
import { type AuditReads, namesOf, targetOf } from "./audit-names.ts";
import { ConsoleRefused, type ConsoleRoute } from "./request-context.ts";
import type { AuditView } from "./users-dto.ts";

const PAGE = 50;
const TEXTS = ["actor", "action", "target"] as const;
const TIMES = ["fromMs", "toMs"] as const;
const KINDS = ["user", "command", "service"] as const;

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
  const kind = query.get("actorKind");
  if (!kind) return filters;
  const known = KINDS.find((one) => one === kind);
  if (known === undefined) throw new ConsoleRefused("invalid", `actorKind: one of ${KINDS.join(", ")}.`);
  return { ...filters, actorKind: known };
};

export const auditRoutes = ({ reads }: { reads: AuditReads }): ConsoleRoute[] => [
  {
    method: "GET",
    path: "/console/api/operator/audit",
    who: "viewer",
    answer: async ({ query }): Promise<AuditView> => {
      const before = query.get("before");
      const users = await reads.users();
      const { target, ...filters } = filtersOf(query);
      const named = target === undefined ? {} : { target: await targetOf(reads, users, target) };
      const lines = await reads.audit(before ? wholeOf("before", before) : null, PAGE + 1, { ...filters, ...named });
      const shown = lines.slice(0, PAGE);
      return {
        lines: shown,
        names: await namesOf(reads, users, shown),
        users: users.map(({ id, name, email }) => ({ id, name, email })),
        before: lines.length > PAGE ? (shown.at(-1)?.seq ?? null) : null,
      };
    },
  },
];
