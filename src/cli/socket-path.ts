// Path of the control socket: in the data directory, or a private temporary directory.
//
// The temporary directory is used if the path is too long for a socket.
import { lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** A socket address has 108 bytes including the terminating zero on Linux, 104 elsewhere. */
const MAX_PATH_BYTES = process.platform === "linux" ? 107 : 103;

const besides = (dir: string) => join(resolve(dir), "control.path");

const noted = (dir: string): string | undefined => {
  try {
    return readFileSync(besides(dir), "utf8").trim();
  } catch {
    return undefined;
  }
};

/** Path to connect to. If `control.path` names another directory, that directory must be private and have the same owner. */
export const findSocketPath = (dir: string): string => {
  const elsewhere = noted(dir);
  if (!elsewhere) return join(resolve(dir), "control.sock");
  try {
    const place = lstatSync(dirname(elsewhere));
    const isPrivate = place.isDirectory() && (place.mode & 0o077) === 0 && place.uid === lstatSync(besides(dir)).uid;
    return isPrivate ? elsewhere : join(resolve(dir), "control.sock");
  } catch {
    return elsewhere;
  }
};

/** Path to listen on; a temporary path is stored in `control.path` (mode 600). Only the owner of the directory may call this. */
export const makeSocketPath = (dir: string): string => {
  dropSocketPath(dir);
  const inside = join(resolve(dir), "control.sock");
  if (Buffer.byteLength(inside) <= MAX_PATH_BYTES) return inside;
  // mkdtemp creates a directory of mode 700 with an unpredictable name.
  const elsewhere = join(mkdtempSync(join(tmpdir(), "genrouter-")), "control.sock");
  writeFileSync(besides(dir), `${elsewhere}\n`, { mode: 0o600 });
  return elsewhere;
};

/** Removes the files of the socket. */
export const dropSocketPath = (dir: string): void => {
  const elsewhere = noted(dir);
  if (elsewhere && /^genrouter-\w+$/.test(dirname(elsewhere).split("/").at(-1) ?? ""))
    rmSync(dirname(elsewhere), { recursive: true, force: true });
  rmSync(besides(dir), { force: true });
  rmSync(join(resolve(dir), "control.sock"), { force: true });
};
