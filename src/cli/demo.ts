// Demo account of a simulator directory: created at the first start with 100 USD.
//
// Its key is stored, so that later starts print the same key.
import { chmodSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AdminService, CreatedAccount } from "../admin/admin-service.ts";
import { DEMO_REFERENCE } from "../admin/demo-account.ts";
import { newReference } from "../admin/request-reference.ts";
import { StoreFull } from "../domain/commit-errors.ts";
import { hashApiKey } from "../domain/ids.ts";
import type { StoreReads } from "../store/store.ts";
import { DEMO_KEY_FILE } from "./session.ts";

const DEMO_NAME = "demo";
const DEMO_CREDITS = 10_000;

const keptKey = (dir: string): string | undefined => {
  try {
    return readFileSync(join(dir, DEMO_KEY_FILE), "utf8").trim();
  } catch {
    return undefined;
  }
};

/** Delay before a write to a full disk is repeated, ms. */
const RETRY_MS = 1_000;

/** Creates the demo account, or returns the one that exists. @throws StoreFull */
export const demoAccount = (admin: Pick<AdminService, "createAccount">): Promise<CreatedAccount> =>
  admin.createAccount({ reference: DEMO_REFERENCE, name: DEMO_NAME, creditCredits: DEMO_CREDITS });

const makeKey = async (dir: string, admin: AdminService): Promise<string> => {
  const { id } = await demoAccount(admin);
  const { key } = await admin.createKey({ reference: newReference("key"), accountId: id, scope: "generate", name: DEMO_NAME });
  const path = join(dir, DEMO_KEY_FILE);
  writeFileSync(`${path}.part`, `${key}\n`, { mode: 0o600 });
  chmodSync(`${path}.part`, 0o600);
  renameSync(`${path}.part`, path);
  return key;
};

/**
 * Returns the key of the demo account: the stored key if it is valid, else a new one as soon as the disk has space. The file has
 * mode 600. It is the only place where a key is stored in plain text, and the key spends simulated money only.
 */
export const demoKey = async (dir: string, admin: AdminService, reads: StoreReads): Promise<string> => {
  const kept = keptKey(dir);
  if (kept && (await reads.callerByKeyHash(hashApiKey(kept)))) return kept;
  for (;;)
    try {
      return await makeKey(dir, admin);
    } catch (fault) {
      if (!(fault instanceof StoreFull)) throw fault;
      await Bun.sleep(RETRY_MS);
    }
};
