// Everything that may be read and that both databases are asked in the same words.
import type { StoreReads } from "../store.ts";
import type { Dialect } from "./dialect.ts";
import { accountReads } from "./queries/accounts.ts";
import { attemptReads } from "./queries/attempts.ts";
import { listedReads } from "./queries/generation-lists.ts";
import { generationReads } from "./queries/generations.ts";
import { keyReads } from "./queries/keys.ts";
import { operatorReads } from "./queries/operator.ts";
import { orphanReads } from "./queries/orphans.ts";
import { pinReads } from "./queries/pins.ts";
import { providerReads } from "./queries/providers.ts";
import { purchaseReads } from "./queries/purchases.ts";
import { recoveryReads } from "./queries/recovery.ts";
import { sumReads } from "./queries/totals.ts";
import { usageReads } from "./queries/usage.ts";
import { peopleReads } from "./queries/users.ts";
import type { Query } from "./sql-program.ts";

export type ReadsDeps = {
  /** How to ask for what a step of the schema brought, where a database of before it may be read: it has none of it. */
  since?: (step: number) => Query;
  /** A condition on `generation g`: that it is this node's. */
  owned?: string;
  /** The statement that asks how many postings are not in the usage yet, as `behind`. */
  usageBehind: string;
};

/** The step of a file's schema that brought pinned inputs. */
const PINS = 8;

export const readsThrough = (
  query: Query,
  dialect: Dialect,
  { since = () => query, owned = "true", usageBehind }: ReadsDeps,
): Omit<StoreReads, "verify" | "close" | "nodes"> => ({
  ...generationReads(query, dialect),
  ...attemptReads(query, owned),
  ...accountReads(query),
  ...keyReads(query),
  ...usageReads(query, usageBehind),
  ...listedReads(query, dialect),
  ...orphanReads(query, dialect),
  ...operatorReads(query, dialect),
  ...recoveryReads(query, dialect, owned, since(PINS)),
  ...pinReads(since(PINS)),
  ...sumReads(query, dialect),
  ...providerReads(since(2)),
  ...peopleReads(since(3)),
  ...purchaseReads(since(5), since(7), dialect),
});
