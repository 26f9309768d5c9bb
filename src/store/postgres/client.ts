// Opens a PostgreSQL database as one node of the cluster: fenced writes and pooled reads.

import { StoreUnknown } from "../../domain/commit-errors.ts";
import { createSequence } from "../../domain/ids.ts";
import type { Mutation, MutationResult } from "../../domain/mutations.ts";
import type { Credits } from "../../domain/types.ts";
import { ServerUnfit, StoreMigrated, WrongMode, WrongSchema } from "../errors.ts";
import type { Migrated } from "../migration-report.ts";
import { readsThrough } from "../sql/reads.ts";
import { packedBy } from "../sql/serialized-mutations.ts";
import { claimDirectory } from "../sqlite/directory-lock.ts";
import type { Mode, Store } from "../store.ts";
import { batchOf } from "./batch.ts";
import { createCallbackInbox } from "./callback-inbox.ts";
import { type Address, type Connection, connect, createPool, within } from "./connections.ts";
import { DebtInTheWay } from "./decide-batch.ts";
import { faultText, isOwn } from "./errors.ts";
import { createFencedTransactions } from "./fenced-transactions.ts";
import { readableJson } from "./flush-batch.ts";
import {
  acquireLease,
  claim,
  claimWebhooks,
  createRenewalStreak,
  type Opening,
  renewalTimeoutMs,
  renewLease,
  resign,
} from "./node-lease.ts";
import { createNodeReads } from "./node-reads.ts";
import { ownerOf } from "./ownership.ts";
import { noteFormer, readFormer } from "./previous-lease.ts";
import { takeFromRateLimit } from "./rate-limit.ts";
import { createRemoteGenerations } from "./remote-generations.ts";
import { requireConfiguredServer, unavailableError } from "./server-requirements.ts";
import { createSharedMutations, USAGE_BEHIND } from "./shared-mutations.ts";
import { POSTGRES } from "./sql-program.ts";
import { ledgerSums } from "./totals.ts";
import { vacuumErased } from "./vacuum-erased.ts";
import { verifyPostgres } from "./verify.ts";

export type PostgresOptions = Address & {
  mode?: Mode;
  nowMs?: number;
  /** Called when the schema was migrated to this release. */
  migrated?: (migrated: Migrated) => void;
  /** Directory of this node, locked against other processes. */
  home?: { dir: string; allowNetworkDisk: boolean };
  /** A command that opens the store briefly and is no node of the service. */
  isVisit?: boolean;
  /** Lease duration in milliseconds. */
  leaseMs?: number;
  /** Number of read connections. */
  readers?: number;
  /** Time in milliseconds after which a read connection counts as lost. */
  longestReadMs?: number;
  /** Time in milliseconds that the database may be unavailable before a commit's outcome counts as unknown. */
  patienceMs?: number;
  /** Minimum server version, for tests. */
  leastVersion?: number;
  /** Available credits below which the balance of an account without its own threshold is low; absent: never. */
  lowBalanceCredits?: Credits;
  /** False only in a test: writes are not fenced. */
  mindsOwners?: boolean;
};

const pack = packedBy(readableJson);

export const LEASE_MS = 30_000;
const READERS = 8;
const PATIENCE_MS = 30_000;
/** Maximum duration of a transaction or a read in milliseconds. */
const MAX_MS = 10_000;

/** Errors that waiting does not fix. */
const UNFIT = [StoreMigrated, ServerUnfit, WrongMode, WrongSchema];

/** @throws DatabaseUnavailable (../errors.ts), StoreMigrated, ServerUnfit, WrongMode, WrongSchema. */
const openEpoch = async (
  address: Address,
  as: Parameters<typeof acquireLease>[1],
  leastVersion: number | undefined,
): Promise<Opening> => {
  let line: Connection | undefined;
  try {
    line = await connect(address);
    await requireConfiguredServer(line, address.url, leastVersion);
    return await acquireLease(line, as);
  } catch (fault) {
    if (UNFIT.some((kind) => fault instanceof kind)) throw fault;
    throw unavailableError(address.url, "opened", fault);
  } finally {
    line?.close();
  }
};

/**
 * Opens the database and an epoch in it, and creates or migrates its schema.
 * @throws DatabaseUnavailable (../errors.ts), StoreMigrated, ServerUnfit, WrongMode, WrongSchema.
 */
export const openPostgresStore = async (options: PostgresOptions): Promise<Store> => {
  const { mode, home, nowMs = Date.now(), leaseMs = LEASE_MS, mindsOwners: minds = true } = options;
  const address = { url: options.url, prepare: options.prepare };
  const claimed = home ? claimDirectory(home.dir, { networkDisk: home.allowNetworkDisk, creation: true }) : null;
  const former = home && readFormer(home.dir);
  const { epoch, slot, newestGeneration, newestTransfer, newestDelivery, migrated } = await openEpoch(
    address,
    // On a network disk the former process may still run.
    { mode, nowMs, leaseMs, former: home?.allowNetworkDisk ? undefined : former, isVisit: options.isVisit },
    options.leastVersion,
  ).catch((fault: unknown) => {
    claimed?.release();
    throw fault;
  });
  if (migrated) options.migrated?.(migrated);
  if (home) noteFormer(home.dir, { epoch, openedAtMs: nowMs });
  const transfers = createSequence(slot);
  transfers.continueAfter(newestTransfer);
  let lastTransfer = newestTransfer;
  const newTransferSeq = (): number => {
    lastTransfer = transfers.next(Date.now());
    return lastTransfer;
  };
  const deliveries = createSequence(slot);
  deliveries.continueAfter(newestDelivery);
  const longestMs = Math.min(MAX_MS, leaseMs);
  const writer = createFencedTransactions({ address, epoch, longestMs, patienceMs: options.patienceMs ?? PATIENCE_MS, minds });
  const pool = createPool(address, options.readers ?? READERS, options.longestReadMs ?? MAX_MS);
  const { lowBalanceCredits = 0 } = options;
  const numbers = { epoch, newTransferSeq, newDeliverySeq: deliveries.next, lowBalanceCredits };
  const others = createSharedMutations({ ...numbers, passed: () => lastTransfer });
  const parts = { ...numbers, minds, ...others };
  const reads = readsThrough(pool.query, POSTGRES, {
    owned: `${ownerOf("g")} = ${epoch}`,
    delivers: POSTGRES.deliveredBy(epoch),
    usageBehind: USAGE_BEHIND,
  });

  /** Whole seconds by which the database's clock is ahead; rate limit windows of all nodes use it. */
  let apartS = 0;
  /** Leases have a separate connection, so they are renewed during a long transaction. */
  let line: Connection | undefined;
  const streak = createRenewalStreak(leaseMs, () => performance.now());
  const leasing = async <T>(work: (line: Connection) => Promise<T>): Promise<T> => {
    line ??= await connect(address);
    const mine = line;
    try {
      return await within(mine, renewalTimeoutMs(leaseMs), () => work(mine));
    } catch (fault) {
      mine.close();
      line = undefined;
      throw fault;
    }
  };

  const commit = async (mutations: readonly Mutation[]): Promise<MutationResult[]> => {
    if (mutations.length === 0) return [];
    const packed = mutations.map(pack);
    try {
      return await writer.transact(batchOf(packed, false, parts));
    } catch (fault) {
      if (!isOwn(fault) && !(fault instanceof DebtInTheWay)) throw fault;
    }
    // One mutation violated a constraint or meets a debt and failed the batch, so each runs separately.
    return await writer.transact(batchOf(packed, true, parts));
  };

  return {
    ...reads,
    nodes: createNodeReads(pool.query),
    verify: (nowMs, report) => verifyPostgres(address, nowMs, report),
    commit,
    newestGeneration,
    node: {
      ...{ epoch, slot, leaseMs, formerUnavailableSinceMs: former?.unavailableSinceMs ?? null },
      recordUnavailable: (sinceMs) => {
        if (!home) return;
        try {
          noteFormer(home.dir, { epoch, openedAtMs: nowMs, ...(sinceMs === null ? {} : { unavailableSinceMs: sinceMs }) });
        } catch {
          // With a full disk, the next start gives no deadline grace for the outage.
        }
      },
      renewLease: async (isLeaving) => {
        const clusterState = await leasing((open) =>
          renewLease(open, { epoch, leaseMs, isLeaving, endsOthers: streak.isLong() }),
        );
        if (clusterState) {
          streak.renewed();
          apartS = Math.round(clusterState.apartMs / 1000);
        }
        return clusterState;
      },
      takeOver: (limit) =>
        writer.transact(async (open, begun) => {
          await begun;
          return { value: await claim(open, epoch, limit), sent: [] };
        }),
      takeOverWebhooks: (limit) =>
        writer.transact(async (open, begun) => {
          await begun;
          return { value: await claimWebhooks(open, epoch, limit), sent: [] };
        }),
      takeFromRateLimit: (accountSeq, second, most) => takeFromRateLimit(pool.query, accountSeq, second + apartS, most),
      ...createCallbackInbox(pool.query, epoch),
      sums: () => ledgerSums(pool.query),
      vacuumErased: () => vacuumErased(address),
      others: createRemoteGenerations(pool.query, epoch),
    },
    close: async () => {
      writer.close();
      try {
        const leave = () => leasing((open) => resign(open, epoch));
        // The connection may have been lost while idle.
        await leave().catch(leave);
      } catch (fault) {
        throw new StoreUnknown(`the lease was not given back and runs out by itself: ${faultText(fault)}`);
      } finally {
        line?.close();
        await pool.close();
        claimed?.release();
      }
    },
  };
};
