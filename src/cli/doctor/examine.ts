// The whole examination, in the order of what rests on what; a part that cannot be looked into is a finding, too.

import type { Settings } from "../../config.ts";
import type { DatabaseHealth } from "../../store/sqlite/health.ts";
import { LINEAGE, lineageFrom } from "../../store/sqlite/lineage.ts";
import type { CheckResult, StoreReads } from "../../store/store.ts";
import { askAbout } from "../control-client.ts";
import { backupFindings, bookFindings, orphanFindings } from "./books.ts";
import { type Finding, fault, ok, textOf } from "./finding.ts";
import { bucketFindings, marketFindings } from "./market.ts";
import { mediaFindings } from "./media.ts";
import { paymentFindings, purchaseFindings } from "./payments.ts";
import { clockFindings, directoryFindings, diskFindings } from "./place.ts";
import { serviceFindings } from "./running.ts";

const RESTORE =
  "stop the service, move the directory aside and restore a backup: genrouter backup list, genrouter backup restore";

type Stored = {
  findings: Finding[];
  lastSeenMs: number | null;
  mode: "test" | "live" | null;
  lineage: string | null;
  market: Finding[];
};

const openedReads = async (dir: string): Promise<StoreReads> => {
  const { openSqliteReads } = await import("../../store/sqlite/reads.ts");
  return openSqliteReads(dir);
};

/** What only a database that can be read tells. */
const examineStored = async (settings: Settings, isDeep: boolean, isRunning: boolean, nowMs: number): Promise<Stored> => {
  const { dir } = settings.data;
  const { lookInto } = await import("../../store/sqlite/health.ts");
  let health: DatabaseHealth;
  try {
    health = lookInto(dir, isDeep);
    if (health.schema > health.newestSchema)
      return { findings: bookFindings(health, null, isRunning), lastSeenMs: null, mode: health.mode, lineage: null, market: [] };
  } catch (thrown) {
    const none = { lastSeenMs: null, mode: null, lineage: null, market: [] };
    return { findings: [fault("database", `it cannot be read: ${textOf(thrown)}`, RESTORE)], ...none };
  }
  let reads: StoreReads | null = null;
  try {
    reads = await openedReads(dir);
    const checks: CheckResult[] | null = isDeep ? await reads.verify(isRunning ? nowMs : null) : null;
    return {
      findings: [
        ...bookFindings(health, checks, isRunning),
        await orphanFindings(reads),
        ...(await purchaseFindings(reads, nowMs)),
      ],
      lastSeenMs: await reads.lastSeenMs(),
      mode: health.mode,
      lineage: lineageFrom(await reads.secret(LINEAGE)),
      market: await marketFindings(settings, health.mode, reads),
    };
  } catch (thrown) {
    const rest = { lastSeenMs: null, mode: health.mode, lineage: null, market: [] };
    return { findings: [...bookFindings(health, null, isRunning), fault("database", textOf(thrown), RESTORE)], ...rest };
  } finally {
    await reads?.close();
  }
};

/** Looks at everything that a service needs; nothing is changed by it. */
export const examine = async (
  settings: Settings,
  isDeep: boolean,
  env: Record<string, string | undefined>,
): Promise<Finding[]> => {
  const { dir } = settings.data;
  const nowMs = Date.now();
  const printsCredentials = env.BUN_CONFIG_VERBOSE_FETCH
    ? [
        fault(
          "settings",
          "BUN_CONFIG_VERBOSE_FETCH prints the providers' credentials with every request",
          "unset BUN_CONFIG_VERBOSE_FETCH",
        ),
      ]
    : [ok("settings", "every one is known and in its bounds")];
  const directory = directoryFindings(settings.data);
  const about = directory.exists ? await askAbout(dir).catch(() => undefined) : undefined;
  const stored: Stored = directory.exists
    ? await examineStored(settings, isDeep, about !== undefined, nowMs)
    : { findings: [], lastSeenMs: null, mode: null, lineage: null, market: await marketFindings(settings, null, null) };
  return [
    ...printsCredentials,
    ...directory.findings,
    ...diskFindings(settings),
    ...clockFindings(nowMs, stored.lastSeenMs),
    ...(await mediaFindings()),
    ...stored.findings,
    ...backupFindings(settings, nowMs, stored.lineage),
    ...(await bucketFindings(settings)),
    ...paymentFindings(settings, stored.mode),
    ...stored.market,
    ...(directory.exists ? await serviceFindings(dir, about) : []),
  ];
};
