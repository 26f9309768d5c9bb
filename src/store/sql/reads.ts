// All reads that both drivers share.
import type { StoreReads } from "../store.ts";
import type { Dialect } from "./dialect.ts";
import { accountReads } from "./queries/accounts.ts";
import { attemptReads } from "./queries/attempts.ts";
import { endUserReads } from "./queries/end-users.ts";
import { erasureReads } from "./queries/erasures.ts";
import { listedReads } from "./queries/generation-lists.ts";
import { generationReads } from "./queries/generations.ts";
import { keyReads } from "./queries/keys.ts";
import { ledgerGenerationReads } from "./queries/ledger-generations.ts";
import { operatorReads } from "./queries/operator.ts";
import { orphanReads } from "./queries/orphans.ts";
import { pinReads } from "./queries/pins.ts";
import { providerReads } from "./queries/providers.ts";
import { purchaseReads } from "./queries/purchases.ts";
import { recoveryReads } from "./queries/recovery.ts";
import { sumReads } from "./queries/totals.ts";
import { uploadReads } from "./queries/uploads.ts";
import { usageReads } from "./queries/usage.ts";
import { userReads } from "./queries/users.ts";
import { webhookReads } from "./queries/webhooks.ts";
import type { Query } from "./sql-program.ts";

export type ReadsDeps = {
  /** Condition on `generation g`: it belongs to this node. */
  owned?: string;
  /** Condition on `webhook_delivery d`: this node delivers it. */
  delivers?: string;
  /** Statement that selects the number of transfers that usage lacks as `behind`. */
  usageBehind: string;
};

export const readsThrough = (
  query: Query,
  dialect: Dialect,
  { owned = "true", delivers = "true", usageBehind }: ReadsDeps,
): Omit<StoreReads, "verify" | "close" | "nodes"> => ({
  ...generationReads(query, dialect),
  ...attemptReads(query, owned),
  ...accountReads(query, dialect),
  ...erasureReads(query),
  ...keyReads(query),
  ...usageReads(query, dialect, usageBehind),
  ...endUserReads(query, dialect),
  ...listedReads(query, dialect),
  ...ledgerGenerationReads(query, dialect),
  ...orphanReads(query, dialect),
  ...operatorReads(query, dialect),
  ...recoveryReads(query, dialect, owned),
  ...pinReads(query),
  ...sumReads(query, dialect),
  ...providerReads(query),
  ...userReads(query),
  ...purchaseReads(query, dialect),
  ...uploadReads(query),
  ...webhookReads(query, dialect, delivers),
});
