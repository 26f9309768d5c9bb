// Serves the ledger of the account, GET /v1/ledger, in pages or as CSV.
import { refuse } from "../../domain/api-errors.ts";
import type { Cursors } from "../../domain/cursors.ts";
import { type Caller, TRANSFER_KINDS } from "../../domain/types.ts";
import { csvFile } from "../../reports/csv.ts";
import { type LedgerLine, type LedgerReads, type LedgerRequest, ledgerCsv, ledgerPage } from "../../reports/ledger.ts";
import { prefersCsv } from "../accept.ts";
import { type AuthenticatedHandler, requireUnlimitedKey } from "../auth.ts";
import { integerIn, LIST_LIMIT, readQuery, timeIn, wordIn } from "../query.ts";
import { usd } from "../resource.ts";
import { answerJson, commonHeaders, signAnswer } from "../response.ts";

export type LedgerDeps = { reads: LedgerReads; cursors: Cursors };

const FILTERS = ["kind", "created_after", "created_before"] as const;
const HEADERS = commonHeaders({ vary: "Accept" });

const entryOf = (line: LedgerLine) => ({
  number: line.n,
  kind: line.kind,
  amount_usd: usd(line.credits),
  change_usd: usd(line.changeCredits),
  balance_usd: usd(line.balanceCredits),
  available_usd: usd(line.availableCredits),
  held_usd: usd(line.heldCredits),
  generation: line.generationId,
  purchase: line.purchaseId,
  note: line.note,
  created_at: new Date(line.atMs).toISOString(),
});

const filtersOf = (
  { accountId }: Caller,
  { kind, created_after, created_before }: { [name in (typeof FILTERS)[number]]?: string },
): LedgerRequest => {
  const afterMs = timeIn("created_after", created_after);
  return {
    accountId,
    kind: wordIn("kind", kind, TRANSFER_KINDS),
    fromMs: afterMs === null ? null : afterMs + 1,
    toMs: timeIn("created_before", created_before),
  };
};

const scopeOf = ({ accountId, kind, fromMs, toMs }: LedgerRequest): string => ["ledger", accountId, kind, fromMs, toMs].join("|");

/** All entries that match the filters, streamed. */
const csvAnswer = (reads: LedgerReads, request: Request, requestId: string, caller: Caller): Response => {
  const filters = filtersOf(caller, readQuery(request, FILTERS));
  // A response to HEAD has no reader, and its stream would never end.
  const body = request.method === "HEAD" ? "" : ledgerCsv(reads, filters);
  const response = signAnswer(csvFile(`ledger-${caller.accountId}.csv`, body), requestId);
  response.headers.set("vary", "Accept");
  return response;
};

export const ledger =
  ({ reads, cursors }: LedgerDeps): AuthenticatedHandler =>
  async (request, requestId, caller) => {
    requireUnlimitedKey(caller);
    if (prefersCsv(request)) return csvAnswer(reads, request, requestId, caller);
    const { limit, after, ...members } = readQuery(request, ["limit", "after", ...FILTERS]);
    const size = integerIn("limit", limit, LIST_LIMIT);
    const filters = filtersOf(caller, members);
    const scope = scopeOf(filters);
    const before = after === undefined ? null : cursors.read(scope, after);
    if (before === undefined)
      return refuse("invalid_request", "after: must be next of a page of this list with the same filters.");
    // One more than the page, which decides whether there is a next one.
    const { lines, next } = await ledgerPage(reads, filters, before, size + 1);
    const shown = lines.slice(0, size);
    const position = lines.length > size ? (shown.at(-1)?.seq ?? null) : next;
    const page = {
      object: "list",
      data: shown.map(entryOf),
      has_more: position !== null,
      next: position === null ? null : cursors.sign(scope, position),
    };
    return answerJson(200, JSON.stringify(page), requestId, HEADERS);
  };
