// Everything that may be read and that both databases are asked in the same words.
import type { StoreReads } from "../store.ts";
import type { Query } from "./asking.ts";
import type { Dialect } from "./dialect.ts";
import { accountReads } from "./read/accounts.ts";
import { attemptReads } from "./read/attempts.ts";
import { generationReads } from "./read/generations.ts";
import { keyReads } from "./read/keys.ts";
import { listedReads } from "./read/listed.ts";
import { operatorReads } from "./read/operator.ts";
import { orphanReads } from "./read/orphans.ts";
import { peopleReads } from "./read/people.ts";
import { pinReads } from "./read/pins.ts";
import { providerReads } from "./read/providers.ts";
import { purchaseReads } from "./read/purchases.ts";
import { recoveryReads } from "./read/recovery.ts";
import { sumReads } from "./read/sums.ts";
import { usageReads } from "./read/usage.ts";

export type ReadsParts = {
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
  { since = () => query, owned = "true", usageBehind }: ReadsParts,
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
