// `genrouter trace`: prints the stored events and transfers of one generation by time.
import type { Command } from "commander";
import type { Attempt, JsonObject } from "../../domain/types.ts";
import { readWriters, toJsonRow } from "../../inspector/generation-history.ts";
import type { StoredEvent, StoreReads, TransferRow } from "../../store/store.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { storeLocationOf, withReads } from "../read-only-store.ts";
import { type DirFlag, type JsonFlag, type Session, withDir, withExamples, withJson } from "../session.ts";
import { showUsd, usdNumber } from "../usd.ts";

/** One entry. `rank` orders entries of the same millisecond: admission, generation event, transfer. */
type Happening = {
  atMs: number;
  rank: number;
  version: number | null;
  name: string;
  state: string;
  text: string;
  json: JsonObject;
};

const MAX_TEXT = 160;

/** Members of an event as `name=value`, with `n` named `attempt` and nested values as JSON. */
const membersOf = (event: JsonObject): string =>
  Object.entries(event)
    .filter(([name, value]) => name !== "type" && name !== "atMs" && value !== null)
    .map(([name, value]) => `${name === "n" ? "attempt" : name}=${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(" ");

/** A generation event and, in a cluster, the node that wrote it. */
type WrittenBy = StoredEvent & { node?: string };
/** A takeover of the generation by a node at a version. */
type TakenOver = { node: string; afterVersion: number; atMs: number };

const ofJournal = ({ atMs, version, stateAfter, event: full, node }: WrittenBy): Happening => {
  const event = toJsonRow(full);
  const by = node === undefined ? {} : { node };
  return {
    atMs,
    rank: 1,
    version,
    name: event.type,
    state: stateAfter,
    text: [membersOf(event), ...(node === undefined ? [] : [`node=${node}`])].join(" ").trim(),
    json: { at: new Date(atMs).toISOString(), version, event, state: stateAfter, ...by },
  };
};

/**
 * Places the takeover after the transition that it continues from, because its time is by the database's clock and those of
 * transitions by the nodes' clocks.
 */
const ofClaim = (claim: TakenOver, journal: readonly WrittenBy[], createdAtMs: number): Happening => {
  const { node, afterVersion } = claim;
  const before = journal.find(({ version }) => version === afterVersion);
  const at = new Date(claim.atMs).toISOString();
  return {
    atMs: before?.atMs ?? createdAtMs,
    rank: 3,
    version: null,
    name: "taken over",
    state: before?.stateAfter ?? "queued",
    text: `node=${node} at=${at}`,
    json: { at, taken_over_by: node, after_version: afterVersion },
  };
};

const ofTransfer = (row: TransferRow): Happening => ({
  atMs: row.atMs,
  rank: row.kind === "hold" ? 0 : 2,
  version: null,
  name: `$ ${row.kind}`,
  state: "",
  text: `${showUsd(row.credits)}  ${row.from} → ${row.to}  available ${showUsd(row.availableAfter)}  held ${showUsd(row.heldAfter)}`,
  json: {
    at: new Date(row.atMs).toISOString(),
    movement: row.kind,
    usd: usdNumber(row.credits),
    from: row.from,
    to: row.to,
    attempt: row.attemptN,
  },
});

/** All entries of a generation, oldest first. */
const happenings = (
  journal: readonly WrittenBy[],
  transfers: readonly TransferRow[],
  claims: readonly TakenOver[],
  createdAtMs: number,
): Happening[] =>
  [...journal.map(ofJournal), ...transfers.map(ofTransfer), ...claims.map((claim) => ofClaim(claim, journal, createdAtMs))].sort(
    (a, b) => a.atMs - b.atMs || a.rank - b.rank || (a.version ?? 0) - (b.version ?? 0),
  );

const claimsOf = async ({ nodes }: StoreReads, seq: number): Promise<TakenOver[]> => {
  const claims = (await nodes?.claims(seq)) ?? [];
  const names = await nodes?.names(claims.map(({ epoch }) => epoch));
  return claims.map(({ epoch, ...claim }) => ({ ...claim, node: names?.get(epoch) ?? `node ${epoch}` }));
};

/** `+00:00:06.140  running.polling          accepted          attempt=1 …`, in aligned columns. */
const lineOf = (happening: Happening, startMs: number, widths: { name: number; state: number }): string => {
  const ms = Math.max(0, happening.atMs - startMs);
  const parts = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1000) % 60];
  const time = `${parts.map((part) => String(part).padStart(2, "0")).join(":")}.${String(ms % 1000).padStart(3, "0")}`;
  const text = happening.text.length > MAX_TEXT ? `${happening.text.slice(0, MAX_TEXT - 1)}…` : happening.text;
  return `+${time}  ${happening.name.padEnd(widths.name)}  ${happening.state.padEnd(widths.state)}  ${text}`.trimEnd();
};

const attemptLine = (attempt: Attempt): string =>
  `attempt ${attempt.n}  ${attempt.state.padEnd(10)}  ${attempt.route.routeId}  ${showUsd(attempt.priceCredits)}  ref ${attempt.ref}${attempt.job ? `  job ${attempt.job.jobId}` : ""}${attempt.failure ? `  ${attempt.failure.class}: ${attempt.failure.detail}` : ""}`;

export const addTrace = (program: Command, session: Session): void => {
  const { terminal } = session;
  const trace = program
    .command("trace <id>")
    .description("show every event, transfer and attempt of a generation (operator)")
    .action(async (id: string, flags: DirFlag & JsonFlag) => {
      await withReads(storeLocationOf(session, flags), async (reads) => {
        const record = await reads.findGeneration(id);
        if (!record)
          throw new CommandError(EXITS.notFound, `there is no generation ${id} in this data directory`, {
            fix: "--data names the directory of the service that has it",
            code: "not_found",
          });
        const [events, transfers, attempts, writerOf, claims] = await Promise.all([
          reads.eventsOf(record.seq),
          reads.transfersOf(record.seq),
          reads.attemptsOf(record.seq),
          readWriters(reads, record.seq),
          claimsOf(reads, record.seq),
        ]);
        const lines = events.map((line) => ({ ...line, ...writerOf(line.version) }));
        const all = happenings(lines, transfers, claims, record.createdAtMs);
        if (flags.json) {
          const { reservedCredits, quotedCredits, costCredits, ...rest } = record;
          const generation = {
            ...rest,
            reserved_usd: usdNumber(reservedCredits),
            quoted_usd: usdNumber(quotedCredits),
            cost_usd: costCredits === null ? null : usdNumber(costCredits),
          };
          return terminal.print(
            JSON.stringify({ generation, attempts: attempts.map(toJsonRow), events: all.map((happening) => happening.json) }),
          );
        }
        const cost = record.costCredits === null ? "" : `  charged ${showUsd(record.costCredits)}`;
        terminal.print(
          `${record.id}  ${record.model}  ${record.status}  account ${record.accountId}  request ${record.requestId}  quoted ${showUsd(record.quotedCredits)}  reserved ${showUsd(record.reservedCredits)}${cost}  ${new Date(record.createdAtMs).toISOString()}`,
        );
        const widths = {
          name: Math.max(0, ...all.map((happening) => happening.name.length)),
          state: Math.max(0, ...all.map((happening) => happening.state.length)),
        };
        for (const happening of all) terminal.print(lineOf(happening, record.createdAtMs, widths));
        for (const attempt of attempts) terminal.print(attemptLine(attempt));
      });
    });
  withExamples(withJson(withDir(trace)), "trace gen_01k…", "trace gen_01k… --json | jq '.events[]'");
};
