// Verifies that the store continues where an archive ends.
//
// The next transfer of each account follows the last archived one, and rows that are in both are equal.
import { linkHash } from "../sql/ledger.ts";
import type { ChainRow } from "../sql/verify/chain.ts";
import { createReport } from "../sql/verify/report.ts";
import type { CheckResult } from "../store.ts";
import type { ArchiveStorage } from "./archive-storage.ts";
import type { Walked } from "./check.ts";
import { differences } from "./compare-rows.ts";
import type { Listed } from "./format.ts";
import { type ArchiveSourceLocation, withArchiveSource } from "./source.ts";

const BALANCES = `SELECT a.seq, a.id, b.last_transfer_no, b.last_transfer_seq, b.available_credits, b.held_credits
  FROM account a JOIN balance b ON b.account_seq = a.seq ORDER BY a.seq`;
const TRANSFERS = "SELECT * FROM transfer_log ORDER BY account_seq, transfer_no";
type Balance = {
  seq: number;
  id: string;
  last_transfer_no: number;
  last_transfer_seq: number | null;
  available_credits: number;
  held_credits: number;
};

/** @throws the error that prevents reading the store. */
export const checkJoin = async (
  place: ArchiveSourceLocation,
  archiveStorage: ArchiveStorage,
  { ends }: Walked,
  manifests: readonly Listed[],
): Promise<CheckResult> =>
  withArchiveSource(place, async (source) => {
    const { rows, lineage } = source;
    const report = createReport(["the database"]);
    const offend = (fault: string, row: Record<string, string | number | null>): void => void report.report({ fault, ...row });
    if (manifests.some(({ manifest }) => manifest.lineage !== lineage))
      offend("the archive belongs to the database of another service", {});
    const known = new Set<number>();
    for await (const balance of rows<Balance>(BALANCES)) {
      const end = ends.get(balance.seq);
      if (!end) continue;
      known.add(balance.seq);
      const isThere =
        balance.last_transfer_no > end.chainSeq ||
        (balance.last_transfer_seq === end.seq &&
          balance.last_transfer_no === end.chainSeq &&
          balance.available_credits === end.availableCredits &&
          balance.held_credits === end.heldCredits);
      if (balance.id !== end.id || !isThere)
        offend("the chain of the account ends before the end of its archive", { account: end.id });
    }
    for (const [seq, { id }] of ends) if (!known.has(seq)) offend("the account is not in the database", { account: id });
    const met = new Set<number>();
    for await (const row of rows<ChainRow>(TRANSFERS)) {
      const end = ends.get(row.account_seq);
      if (!end) continue;
      if (row.transfer_no === end.chainSeq && (row.hash !== end.hash || row.seq !== end.seq))
        offend("the last archived transfer differs from the database", {
          account: end.id,
          transfer_no: row.transfer_no,
        });
      if (row.transfer_no !== end.chainSeq + 1) continue;
      met.add(row.account_seq);
      const hash = linkHash(end.hash, {
        ...{ chainSeq: row.transfer_no, kind: row.kind, credits: row.credits, from: row.from_side, to: row.to_side },
        ...{
          generationSeq: row.generation_seq,
          attemptN: row.attempt_no,
          availableAfter: row.available_after,
          heldAfter: row.held_after,
        },
        ...{ atMs: row.at_ms, note: row.note },
      });
      if (row.previous_seq !== end.seq || row.hash !== hash)
        offend("the next transfer does not follow the last archived transfer", {
          account: end.id,
          transfer_no: row.transfer_no,
        });
    }
    for await (const balance of rows<Balance>(BALANCES)) {
      const end = ends.get(balance.seq);
      if (end && balance.last_transfer_no > end.chainSeq && !met.has(balance.seq))
        offend("the transfer after the last archived transfer is missing", { account: end.id });
    }
    for (const { manifest } of manifests)
      for (const row of await differences(source, archiveStorage, manifest))
        offend("the row differs from the database, or only one of them has it", { manifest: manifest.n, row });
    return { ok: report.rows.length === 0, invariant: 1, name: "archive and database are continuous", offending: report.rows };
  });
