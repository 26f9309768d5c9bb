// Query of generations with their transfers, for ledgers that show one line for each generation.
import type { LedgerGeneration, StoreReads } from "../../store.ts";
import type { Dialect } from "../dialect.ts";
import type { Query } from "../sql-program.ts";
import { HOLD, OF_TRANSFER, type StoredTransferRow, TRANSFER } from "./accounts.ts";
import { excerptsIn } from "./generation-lists.ts";

type Reads = Pick<StoreReads, "ledgerGenerations">;
type Named = { seq: number; id: string; model: string };

const among = ({ items, json }: Dialect): string => items(json("CAST(?1 AS text)"), "j");
// Rows are found by their numbers, and settlements by the index that allows one of each kind for a generation.
const transfersIn = (dialect: Dialect): string =>
  `${HOLD} FROM ${among(dialect)} JOIN generation g ON g.seq = CAST(j.value AS bigint) JOIN account a ON a.seq = g.account_seq
   UNION ALL ${TRANSFER} FROM ${among(dialect)} JOIN transfer p ON p.generation_seq = CAST(j.value AS bigint) ${OF_TRANSFER}
   ORDER BY "chainSeq"`;
const namesIn = (dialect: Dialect): string =>
  `SELECT g.seq, g.id, g.model FROM ${among(dialect)} JOIN generation g ON g.seq = CAST(j.value AS bigint)`;

export const ledgerGenerationReads = (query: Query, dialect: Dialect): Reads => {
  const [transfers, names, excerpts] = [transfersIn(dialect), namesIn(dialect), excerptsIn(dialect)];
  return {
    ledgerGenerations: async (seqs) => {
      if (seqs.length === 0) return new Map();
      const among = JSON.stringify(seqs);
      const [rows, named, prompted] = await Promise.all([
        query<StoredTransferRow>(transfers, among),
        query<Named>(names, among),
        query<{ seq: number; prompt: string | null }>(excerpts, among),
      ]);
      const prompts = new Map(prompted.map(({ seq, prompt }) => [seq, prompt]));
      const groups = Map.groupBy(rows, ({ generationId }) => generationId);
      return new Map(
        named.map(({ seq, id, model }): [string, LedgerGeneration] => [
          id,
          { id, model, prompt: prompts.get(seq) ?? null, transfers: groups.get(id) ?? [] },
        ]),
      );
    },
  };
};
