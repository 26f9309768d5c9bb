// Runs all doctor checks in order of dependency; a check that cannot run is a finding.

import { existsSync } from "node:fs";
import type { Settings } from "../../config/schema.ts";
import { StoreMigrated } from "../../store/errors.ts";
import { LINEAGE, lineageFrom } from "../../store/sqlite/database-id.ts";
import type { DatabaseHealth } from "../../store/sqlite/health.ts";
import type { CheckResult, StoreReads } from "../../store/store.ts";
import { fetchSettings, requestFor } from "../control-client.ts";
import { bucketFindings, storedFilesFinding } from "./bucket.ts";
import { backupFindings, databaseFindings, orphanFindings, schemaFinding } from "./database.ts";
import { descriptorFindings } from "./descriptors.ts";
import { type Finding, fault, ok, type Stored, textOf } from "./finding.ts";
import { clockFindings, copyFindings, directoryFindings, diskFindings } from "./host.ts";
import { mailFindings } from "./mail.ts";
import { mediaFindings } from "./media.ts";
import { paymentFindings, purchaseFindings } from "./payments.ts";
import { serviceFindings } from "./process.ts";
import { providerFindings } from "./providers.ts";
import { checkSharedDatabase } from "./shared.ts";
import { signInFindings } from "./sign-in.ts";

const RESTORE =
  "stop the service, move the directory aside and restore a backup: genrouter backup list, genrouter backup restore";

const openedReads = async (dir: string): Promise<StoreReads> => {
  const { openSqliteReads } = await import("../../store/sqlite/reads.ts");
  return openSqliteReads(dir, { insistsOnHere: true });
};

/** Checks that need a readable database. */
const checkDatabase = async (settings: Settings, isDeep: boolean, isRunning: boolean, nowMs: number): Promise<Stored> => {
  const { dir } = settings.data;
  const { inspectDatabase, schemaVersionIn } = await import("../../store/sqlite/health.ts");
  let health: DatabaseHealth;
  try {
    const foreign = schemaFinding(schemaVersionIn(dir));
    if (foreign) return { findings: [foreign], lastSeenMs: null, mode: null, lineage: null, providers: [] };
    health = inspectDatabase(dir, isDeep);
  } catch (thrown) {
    const none = { lastSeenMs: null, mode: null, lineage: null, providers: [] };
    return { findings: [fault("database", `it cannot be read: ${textOf(thrown)}`, RESTORE)], ...none };
  }
  let reads: StoreReads | null = null;
  try {
    reads = await openedReads(dir);
    const checks: CheckResult[] | null = isDeep ? await reads.verify(isRunning ? nowMs : null) : null;
    return {
      findings: [
        ...databaseFindings(health, checks, isRunning),
        await orphanFindings(reads),
        ...(isDeep ? [await storedFilesFinding(reads, settings, nowMs)] : []),
        ...(await purchaseFindings(reads, nowMs)),
      ],
      lastSeenMs: await reads.lastSeenMs(),
      mode: health.mode,
      lineage: lineageFrom(await reads.secret(LINEAGE)),
      providers: await providerFindings(settings, health.mode, reads),
    };
  } catch (thrown) {
    if (thrown instanceof StoreMigrated) {
      const none = { lastSeenMs: null, mode: null, lineage: null, providers: [] };
      return { findings: [fault("database", thrown.message, "set GENROUTER_STORE__URL where the service has it")], ...none };
    }
    const rest = { lastSeenMs: null, mode: health.mode, lineage: null, providers: [] };
    return { findings: [...databaseFindings(health, null, isRunning), fault("database", textOf(thrown), RESTORE)], ...rest };
  } finally {
    await reads?.close();
  }
};

type ExamineOptions = { isDeep: boolean; isRunning: boolean; hasDatabase: boolean };
const storedOf = async (settings: Settings, { isDeep, isRunning, hasDatabase }: ExamineOptions): Promise<Stored> => {
  if (settings.store.url !== "") return checkSharedDatabase(settings, isDeep, Date.now());
  if (hasDatabase) return checkDatabase(settings, isDeep, isRunning, Date.now());
  return { findings: [], lastSeenMs: null, mode: null, lineage: null, providers: await providerFindings(settings, null, null) };
};

const settingFinding = (isServed: boolean, env: Record<string, string | undefined>): Finding => {
  if (env.BUN_CONFIG_VERBOSE_FETCH)
    return fault(
      "settings",
      "BUN_CONFIG_VERBOSE_FETCH prints the providers' credentials with every request",
      "unset BUN_CONFIG_VERBOSE_FETCH",
    );
  return ok("settings", isServed ? "those of the running service" : "all settings are valid");
};

/** Checks everything that a service needs, with the settings of the running service if there is one. Changes nothing. */
export const runChecks = async (own: Settings, isDeep: boolean, env: Record<string, string | undefined>): Promise<Finding[]> => {
  const { dir } = own.data;
  const about = existsSync(dir) ? await requestFor(dir).catch(() => undefined) : undefined;
  const served = about && (await fetchSettings(dir).catch(() => undefined));
  // The settings of the running service apply, except for the data directory, which is this command's own.
  const settings = served ? { ...served, data: { ...served.data, dir } } : own;
  const isShared = settings.store.url !== "";
  const directory = directoryFindings(settings.data, isShared);
  const stored = await storedOf(settings, { isDeep, isRunning: about !== undefined, hasDatabase: directory.hasDatabase });
  return [
    settingFinding(served !== undefined, env),
    ...directory.findings,
    ...diskFindings(settings),
    ...copyFindings(dir),
    ...clockFindings(Date.now(), stored.lastSeenMs),
    ...descriptorFindings(settings, about?.pid),
    ...(await mediaFindings()),
    ...stored.findings,
    ...backupFindings(settings, Date.now(), stored.lineage),
    ...(await bucketFindings(settings, isShared)),
    ...paymentFindings(settings, stored.mode),
    ...(await mailFindings(settings)),
    ...signInFindings(settings),
    ...stored.providers,
    ...(directory.exists ? await serviceFindings(dir, about) : []),
  ];
};
