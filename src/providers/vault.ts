// Vault: stores provider credentials encrypted with AES-256-GCM under a master key.
//
// The master key is in a file beside the database and never in it.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";

/** Readable by its owner only. A backup of the database alone decrypts nothing. */
const MASTER_FILE = "provider-keys.master";
const MASTER_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const FORM = "v1";
const ALGORITHM = "aes-256-gcm";

/** A credential that cannot be decrypted. The message is one line with the remedy, and never contains the credential. */
export class VaultFault extends Error {}

export type Sealed = { id: string; sealed: string };
/** A row of the database. */
export type SealedCredential = Sealed & { account: string };
export type Vault = {
  /**
   * Encrypts under the newest master key, and creates one if the file has none. In a shared database it refuses if the file lacks
   * a master key of an existing row, because the other nodes could not decrypt the result. @throws VaultFault
   */
  seal(account: string, key: string, beside: readonly SealedCredential[]): Sealed;
  /** @throws VaultFault */
  open(account: string, kept: Sealed): string;
  /** Creates a new master key. Older ones still decrypt until `forgetOld`. */
  renew(): void;
  /**
   * Deletes the old master keys, after all credentials are encrypted again. With a shared database the previous key stays,
   * because another node may have encrypted under it just now.
   */
  forgetOld(): void;
};

type Master = { id: string; key: Buffer };

const idOf = (key: Uint8Array): string => createHash("sha256").update("master").update(key).digest("hex").slice(0, 12);
const newMaster = (): Master => {
  const key = randomBytes(MASTER_BYTES);
  return { id: idOf(key), key };
};

/**
 * Opens the vault of a data directory. The file is created with the first encrypted credential. @param isShared whether other
 * nodes, each with a copy of the file, decrypt these credentials.
 */
export const createVault = (dir: string, isShared = false): Vault => {
  const path = join(dir, MASTER_FILE);
  const fault = (why: string): never => {
    throw new VaultFault(`${path}: ${why}`);
  };
  /** Newest first. */
  const read = (): Master[] => {
    if (!existsSync(path)) return [];
    return readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const key = Buffer.from(line, "hex");
        if (key.length !== MASTER_BYTES) fault("a line of it is not a master key; restore the file from a backup");
        return { id: idOf(key), key };
      });
  };
  const write = (masters: readonly Master[]): void => {
    const aside = `${path}.new`;
    // A leftover file may be readable by others, and its mode would not change.
    rmSync(aside, { force: true });
    const file = openSync(aside, "wx", 0o600);
    writeSync(file, masters.map(({ key }) => `${key.toString("hex")}\n`).join(""));
    fsyncSync(file);
    closeSync(file);
    renameSync(aside, path);
    const above = openSync(dirname(path), "r");
    fsyncSync(above);
    closeSync(above);
  };
  const newest = (): Master => {
    const [first] = read();
    if (first) return first;
    const made = newMaster();
    write([made]);
    return made;
  };

  const remedyFor = (account: string): string =>
    isShared
      ? `copy ${MASTER_FILE} from a node that has it (where none has it any more: genrouter providers drop-key ${account})`
      : `restore the file, or set the key again: genrouter providers set-key ${account}`;
  const missing = (masterId: string, { account, id }: Omit<SealedCredential, "sealed">): string =>
    `the master key ${masterId} of the ${account} key ${id} is not in it; ${remedyFor(account)}`;
  const requireMasterKeysOf = (kept: readonly SealedCredential[]): void => {
    const known = new Set(read().map(({ id }) => id));
    for (const row of kept) {
      const [, masterId = ""] = row.sealed.split(".");
      if (!known.has(masterId)) fault(missing(masterId, row));
    }
  };

  return {
    seal: (account, key, beside) => {
      if (isShared) requireMasterKeysOf(beside);
      const master = newest();
      const id = `pk_${randomBytes(5).toString("hex")}`;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, master.key, nonce);
      // A ciphertext decrypts only for its own account and id.
      cipher.setAAD(Buffer.from(`${FORM} ${account} ${id}`));
      const body = Buffer.concat([cipher.update(key, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return { id, sealed: [FORM, master.id, nonce.toString("base64url"), body.toString("base64url")].join(".") };
    },
    open: (account, { id, sealed }) => {
      const [form, masterId, nonce = "", text = ""] = sealed.split(".");
      const master = read().find((one) => one.id === masterId);
      if (form !== FORM || !master) return fault(missing(masterId ?? "", { account, id }));
      const body = Buffer.from(text, "base64url");
      try {
        const decipher = createDecipheriv(ALGORITHM, master.key, Buffer.from(nonce, "base64url"), { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(`${FORM} ${account} ${id}`));
        decipher.setAuthTag(body.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]).toString("utf8");
      } catch {
        return fault(`the ${account} key ${id} was changed after it was sealed; ${remedyFor(account)}`);
      }
    },
    renew: () => write([newMaster(), ...read()]),
    forgetOld: () => write(read().slice(0, isShared ? 2 : 1)),
  };
};
