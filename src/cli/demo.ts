// The demo account of a simulator directory: made at its first start with 100 USD; its key is kept so that later starts print it again.
import { chmodSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AdminService } from "../admin/admin-service.ts";
import { newReference } from "../admin/request-reference.ts";
import { hashApiKey } from "../domain/ids.ts";
import { StoreFull } from "../store/mutations.ts";
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

/** A disk that is full is asked again after this long, ms. */
const RETRY_MS = 1_000;

const makeKey = async (dir: string, admin: AdminService): Promise<string> => {
  // A start that was killed half way has made the account already; its reference keeps it from being made twice.
  const { id } = await admin.createAccount({ reference: "demo account", name: DEMO_NAME, creditCredits: DEMO_CREDITS });
  const { key } = await admin.createKey({ reference: newReference("key"), accountId: id, scope: "generate", name: DEMO_NAME });
  const path = join(dir, DEMO_KEY_FILE);
  writeFileSync(`${path}.part`, `${key}\n`, { mode: 0o600 });
  chmodSync(`${path}.part`, 0o600);
  renameSync(`${path}.part`, path);
  return key;
};

/**
 * The key of the demo account. A key that was kept is used as long as it opens; a new one is made otherwise, when the disk has space.
 * The file has mode 600: it is the one place where a key stands as text, and it opens play money only.
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
