// Verifies an archive: files, hash chains, settlements, histories and deliveries.
//
// The check reads only the archive. It walks the chains of all accounts from their first transfer.
import { chainStart, linkHash } from "../sql/ledger.ts";
import type { ChainRow } from "../sql/verify/chain.ts";
import { CHARGED_OTHERWISE, EARLIER, mismatchFault } from "../sql/verify/deliveries.ts";
import { createReport } from "../sql/verify/report.ts";
import type { CheckResult } from "../store.ts";
import type { ArchiveStorage } from "./archive-storage.ts";
import {
  type AccountChainRange,
  ArchiveError,
  type End,
  type Listed,
  type Manifest,
  manifestName,
  manifestsIn,
  type Row,
  rowsIn,
  type Totals,
} from "./format.ts";

type Offend = (fault: string, row: Record<string, string | number | null>) => void;

/** State of the whole archive during the walk over its manifests in order. */
export type Walked = {
  ends: Map<number, End & { id: string }>;
  /** Holds of generations that are not archived yet. */
  open: Map<number, { hash: string; credits: number; account: number; chainSeq: number }>;
  /** Number of succeeded generations that an older release accepted without an expected delivery. */
  earlier: number;
};

const isSame = (one: End, other: End): boolean =>
  one.seq === other.seq &&
  one.chainSeq === other.chainSeq &&
  one.hash === other.hash &&
  one.availableCredits === other.availableCredits &&
  one.heldCredits === other.heldCredits;

/** Each row is read once, so the totals are counted during the walk. */
const count = (totals: Totals, { kind, credits }: Pick<ChainRow, "kind" | "credits">): void => {
  totals.transfers += 1;
  if (kind === "capture") totals.capturedCredits += credits;
  if (kind === "release") totals.releasedCredits += credits;
};

type Settled = { captured: number | null; released: number; at: number; attempt: number | null };

/** Walks every chain of a manifest from its start to its recorded end. @returns the settlement of each generation. */
const walkChains = async (
  archiveStorage: ArchiveStorage,
  manifest: Manifest,
  { ends, open }: Walked,
  totals: Totals,
  offend: Offend,
): Promise<Map<number, Settled>> => {
  const settled = new Map<number, Settled>();
  const pieces = new Map<number, AccountChainRange & { at: End }>();
  for await (const piece of rowsIn<AccountChainRange>(archiveStorage, manifest, "account")) {
    const start = { seq: null, chainSeq: 0, hash: chainStart(piece.id), availableCredits: 0, heldCredits: 0 };
    const known = ends.get(piece.seq);
    if (!isSame(piece.from, known ?? start) || (known && known.id !== piece.id))
      offend("the part of the chain does not start at the end of the previous archive", { account: piece.id });
    pieces.set(piece.seq, { ...piece, at: piece.from });
  }
  for await (const row of rowsIn<ChainRow>(archiveStorage, manifest, "transfer")) {
    count(totals, row);
    const piece = pieces.get(row.account_seq);
    if (!piece) {
      offend("the account of the transfer has no part in this archive", { transfer: row.seq });
      continue;
    }
    const { at } = piece;
    const change = (side: string) => (row.to_side === side ? row.credits : 0) - (row.from_side === side ? row.credits : 0);
    const availableAfter = at.availableCredits + change("available");
    const heldAfter = at.heldCredits + change("held");
    const hash = linkHash(at.hash, {
      ...{ chainSeq: at.chainSeq + 1, kind: row.kind, credits: row.credits, from: row.from_side, to: row.to_side },
      ...{
        generationSeq: row.generation_seq,
        attemptN: row.attempt_no,
        availableAfter,
        heldAfter,
        atMs: row.at_ms,
        note: row.note,
      },
    });
    if (row.hash !== hash || row.previous_seq !== at.seq || row.transfer_no !== at.chainSeq + 1)
      offend("the transfer does not follow its predecessor", { account: piece.id, transfer_no: row.transfer_no });
    if (row.at_ms >= manifest.beforeMs) offend("the transfer is newer than the archive's time limit", { transfer: row.seq });
    piece.at = {
      seq: row.seq,
      chainSeq: row.transfer_no,
      hash: row.hash,
      availableCredits: availableAfter,
      heldCredits: heldAfter,
    };
    const generation = row.generation_seq ?? 0;
    if (row.kind === "hold")
      open.set(generation, { hash: row.hash, credits: row.credits, account: row.account_seq, chainSeq: row.transfer_no });
    if (row.kind !== "capture" && row.kind !== "release") continue;
    const before = settled.get(generation) ?? { captured: null, released: 0, at: row.transfer_no, attempt: null };
    settled.set(
      generation,
      row.kind === "capture"
        ? { ...before, captured: row.credits, attempt: row.attempt_no }
        : { ...before, released: before.released + row.credits },
    );
  }
  for (const piece of pieces.values()) {
    if (!isSame(piece.at, piece.to)) offend("the chain does not end at the recorded transfer", { account: piece.id });
    ends.set(piece.seq, { ...piece.to, id: piece.id });
  }
  return settled;
};

type Generation = Row & {
  seq: number;
  id: string;
  status: string;
  reserved_credits: number;
  cost_credits: number;
  attempts: number;
  output: string | null;
  /** Absent in archives of builds that did not store it. */
  expected_delivery?: string | null;
};
/** Takes the rows of one generation at a time from rows in the order of generations, because all rows exceed the memory. */
const openTaking = (rows: AsyncIterator<Row, undefined>, stray: (seq: number) => void) => {
  let next: Row | undefined;
  let isBegun = false;
  const advance = async (): Promise<void> => {
    isBegun = true;
    next = (await rows.next()).value;
  };
  /** @param seq At least the previous one. */
  return async (seq: number): Promise<Row[]> => {
    if (!isBegun) await advance();
    const taken: Row[] = [];
    for (; next !== undefined && Number(next.generation_seq) <= seq; await advance())
      if (Number(next.generation_seq) === seq) taken.push(next);
      else stray(Number(next.generation_seq));
    return taken;
  };
};

type History = {
  attempts: { n: number; state: string; price: number; isSent: boolean; route: string }[];
  requests: number[];
  versions: number[];
  last: string;
};
const openHistories = (archiveStorage: ArchiveStorage, manifest: Manifest, stray: (seq: number) => void) => {
  const [attempts, requests, journal] = (["attempt", "attempt_request", "generation_event"] as const).map((kind) =>
    openTaking(rowsIn(archiveStorage, manifest, kind), stray),
  ) as [ReturnType<typeof openTaking>, ReturnType<typeof openTaking>, ReturnType<typeof openTaking>];
  return async (seq: number): Promise<History> => {
    const steps = await journal(seq);
    return {
      attempts: (await attempts(seq)).map((row) => ({
        ...{ n: Number(row.attempt_no), state: String(row.state), price: Number(row.price_credits), route: String(row.route_id) },
        isSent: row.sent_at_ms !== null,
      })),
      requests: (await requests(seq)).map(({ attempt_no }) => Number(attempt_no)),
      versions: steps.map(({ version }) => Number(version)),
      last: String(steps.at(-1)?.state_after ?? ""),
    };
  };
};

/** Maximum number of strays that are collected. */
const MAX_STRAYS = 100;
const countUp = (numbers: readonly number[]): boolean => numbers.every((one, at) => one === at + 1);

/** Compares each generation with its hold, settlement, attempts and events, in both directions. */
const checkLives = async (
  archiveStorage: ArchiveStorage,
  manifest: Manifest,
  settled: Map<number, Settled>,
  walked: Walked,
  totals: Totals,
  { money, life, delivery }: { money: Offend; life: Offend; delivery: Offend },
): Promise<void> => {
  const { open } = walked;
  const strays = new Set<number>();
  const historyOf = openHistories(archiveStorage, manifest, (stray) => {
    if (strays.size < MAX_STRAYS) strays.add(stray);
  });
  let last = 0;
  for await (const row of rowsIn<Generation>(archiveStorage, manifest, "generation")) {
    totals.generations += 1;
    const { seq, id, status, reserved_credits: reserved, cost_credits: cost } = row;
    const hold = open.get(seq);
    const settlement = settled.get(seq);
    if (seq <= last) life("the generations are not in order", { generation: id });
    last = seq;
    const history = await historyOf(seq);
    if (
      hold === undefined ||
      hold.hash !== row.hold_hash ||
      hold.credits !== reserved ||
      hold.account !== row.account_seq ||
      hold.chainSeq !== row.hold_transfer_no
    )
      money("the hold of the generation is not in the chain", { generation: id });
    const captured = settlement?.captured ?? 0;
    const isRight =
      settlement !== undefined &&
      captured + settlement.released === reserved &&
      captured === cost &&
      (status === "succeeded" ? captured > 0 : status === "failed" && settlement.captured === null);
    if (!isRight)
      money("the generation does not have exactly one settlement of its whole hold", { generation: id, status, captured, cost });
    const delivered = history.attempts.filter(({ state }) => state === "delivered");
    if (
      status === "succeeded"
        ? delivered.length !== 1 || delivered[0]?.price !== captured || delivered[0]?.n !== settlement?.attempt
        : delivered.length > 0
    )
      money("the captured credits differ from the price of the delivered attempt", { generation: id });
    if (status === "succeeded") {
      const mismatch = row.expected_delivery ? mismatchFault(row.expected_delivery, row.output) : undefined;
      if (mismatch !== undefined) delivery(CHARGED_OTHERWISE, { generation: id, mismatch });
      if (!row.expected_delivery) walked.earlier += 1;
    }
    open.delete(seq);
    settled.delete(seq);
    if (!countUp(history.versions) || history.last !== status)
      life("the events have a gap or do not lead to the status", { generation: id, status, last: history.last });
    if (!countUp(history.attempts.map(({ n }) => n)) || new Set(history.attempts.map(({ route }) => route)).size !== row.attempts)
      life("the attempts differ from the count of the generation", { generation: id });
    const requested = new Set(history.requests);
    if (history.attempts.some(({ n, isSent }) => isSent && !requested.has(n)))
      life("the request of a sent attempt is missing", { generation: id });
  }
  for (const seq of settled.keys()) money("a transfer settles a generation that is not in the archive", { generation_seq: seq });
  await historyOf(Number.POSITIVE_INFINITY);
  for (const seq of strays) life("attempts or events belong to a missing generation", { generation_seq: seq });
};

/**
 * Runs the checks of an archive and returns the ends of its chains. @throws ArchiveError if the archive has no manifest or an
 * unreadable one.
 */
export const checkArchive = async (
  archiveStorage: ArchiveStorage,
): Promise<{ checks: CheckResult[]; walked: Walked; manifests: readonly Listed[] }> => {
  const manifests = await manifestsIn(archiveStorage);
  if (manifests.length === 0) throw new ArchiveError(`there is no archive in ${archiveStorage.describe()}`);
  const tellings = [1, 2, 3, 4, 5].map(() => createReport(["an archive"]));
  const offendAt =
    (at: number): Offend =>
    (fault, row) =>
      void tellings[at]?.report({ fault, ...row });
  const [files, chains, money, life, delivery] = [offendAt(0), offendAt(1), offendAt(2), offendAt(3), offendAt(4)];
  const walked: Walked = { ends: new Map(), open: new Map(), earlier: 0 };
  let before: Listed | undefined;
  for (const [at, listed] of manifests.entries()) {
    const { manifest } = listed;
    const name = manifestName(manifest.n);
    if (manifest.n !== at + 1 || manifest.previous !== (before?.sha256 ?? null))
      files("the previous manifest is missing or was changed", { manifest: name });
    if (before && before.manifest.lineage !== manifest.lineage)
      files("the manifest belongs to the database of another service", { manifest: name });
    before = listed;
    const danger = await archiveStorage.danger(name);
    if (danger !== undefined) files(danger, { manifest: name });
    const totals: Totals = { transfers: 0, generations: 0, capturedCredits: 0, releasedCredits: 0 };
    try {
      const settled = await walkChains(archiveStorage, manifest, walked, totals, chains);
      await checkLives(archiveStorage, manifest, settled, walked, totals, { money, life, delivery });
      if (JSON.stringify(totals) !== JSON.stringify(manifest.totals))
        files("the totals of the manifest differ from its rows", { manifest: name });
    } catch (fault) {
      if (!(fault instanceof ArchiveError)) throw fault;
      files(fault.message, { manifest: name });
    }
  }
  const held = new Map<number, number>();
  for (const { account, credits } of walked.open.values()) held.set(account, (held.get(account) ?? 0) + credits);
  for (const [account, { id, heldCredits }] of walked.ends)
    if (heldCredits !== (held.get(account) ?? 0)) money("the held credits differ from the unsettled holds", { account: id });
  const names = [
    "archive: its files are whole",
    "archive: conservation",
    "archive: settled once, at the quote",
    "archive: lawful history",
    "archive: delivered as ordered",
  ];
  const checks = tellings.map(({ rows }, at) => {
    const invariant = [12, 1, 3, 10, 13][at] ?? 0;
    const notes = invariant === 13 && walked.earlier > 0 ? { note: `${walked.earlier} ${EARLIER}` } : {};
    return { ...{ ok: rows.length === 0, invariant, name: names[at] ?? "", offending: rows }, ...notes };
  });
  return { checks, walked, manifests };
};
