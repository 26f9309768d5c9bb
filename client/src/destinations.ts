// Destinations of result files: a regular file, a directory, or a stream.
//
// A stream is a FIFO, a device or an open descriptor.
import { constants, write } from "node:fs";
import { access, lstat, open, readlink, realpath, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { GenrouterError } from "./errors.ts";

/** `stream`: bytes are written in order and nothing is replaced. */
export type Place = { kind: "file"; path: string } | { kind: "stream"; path: string; fd: number | null };

export const unwritable = (path: string, cause: unknown): GenrouterError =>
  new GenrouterError("unwritable", `${path} cannot be written: ${cause instanceof Error ? cause.message : cause}`, { cause });

/**
 * Names of open descriptors of this process. They are used directly, because reopening would truncate a file and fail for a
 * socket.
 */
const DESCRIPTOR = /^\/(?:dev\/(?:fd\/(\d+)|(stdin|stdout|stderr))|proc\/(?:self|thread-self)\/fd\/(\d+))$/;
const STANDARD: Readonly<Record<string, number>> = { stdin: 0, stdout: 1, stderr: 2 };

/** The open descriptor that a path names, such as `/dev/stdout`; null for any other path. */
export const descriptorOf = (path: string): number | null => {
  const [, number, standard = "", other] = DESCRIPTOR.exec(path) ?? [];
  return STANDARD[standard] ?? (number === undefined && other === undefined ? null : Number(number ?? other));
};

const writeTo = promisify(write);
const codeOf = (fault: unknown): string => (fault instanceof Error && "code" in fault ? String(fault.code) : "");
const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "its file system is read-only",
  ENAMETOOLONG: "the name is too long",
  ENOTDIR: "a part of its path is not a directory",
  ELOOP: "its symbolic links lead in a circle",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EBADF: "it is not open",
  EISDIR: "it is a directory",
};
const refused = (path: string, fault: unknown): GenrouterError => unwritable(path, REASONS[codeOf(fault)] ?? fault);

/** Status of a path; undefined if it does not exist. @throws GenrouterError `unwritable` if it is not accessible */
const found = (look: typeof stat, path: string) =>
  look(path).catch((fault: unknown) => {
    if (codeOf(fault) === "ENOENT") return undefined;
    throw refused(path, fault);
  });

/** Resolves symbolic links, including the last one, whose target may not exist. */
const followed = async (path: string): Promise<string> => {
  if (await found(stat, path)) return realpath(path);
  if (!(await found(lstat, path))?.isSymbolicLink()) return path;
  return followed(resolve(await realpath(dirname(path)), await readlink(path)));
};

/** The destination of a path after symbolic links. @throws GenrouterError `unwritable` if no file can be written to it */
export const placeAt = async (path: string): Promise<Place> => {
  const fd = descriptorOf(path);
  if (fd !== null) return { kind: "stream", path, fd };
  const at = await found(stat, path);
  if (at?.isDirectory()) throw unwritable(path, "it is a directory");
  if (at?.isSocket()) throw unwritable(path, "it is a socket");
  if (at !== undefined && !at.isFile()) return { kind: "stream", path, fd: null };
  return { kind: "file", path: await followed(path) };
};

/** Names of the files: `name` for the first; null for a directory, where files are named by generation and type. */
export type Names = { dir: string; name: string | null };

/** @throws GenrouterError `unwritable` if the directory does not exist. */
export const namesOf = async (wanted: string | undefined): Promise<Names> => {
  if (wanted === "") throw unwritable('""', "it is not a path");
  const isDir = wanted === undefined || /[/\\]$/.test(wanted) || ((await found(stat, wanted))?.isDirectory() ?? false);
  const dir = wanted === undefined ? "." : isDir ? wanted : dirname(wanted);
  const at = await found(stat, dir);
  if (!at) throw unwritable(wanted ?? dir, `there is no directory ${dir}`);
  if (!at.isDirectory()) throw unwritable(wanted ?? dir, `${dir} is not a directory`);
  return { dir, name: isDir ? null : basename(wanted) };
};

/** `kite.mp4` for the first file, `kite-2.mp4` for the second. */
export const numbered = (first: string, n: number): string => {
  if (n === 1) return first;
  const ending = extname(first);
  return `${first.slice(0, first.length - ending.length)}-${n}${ending}`;
};

/** Number of characters of a long name that its part file keeps, so that the part's name is not too long. */
const PART_NAME_CHARS = 40;

/** Path of file `n` until it is complete: beside its destination, so that it can be renamed. */
export const partOf = (dir: string, name: string | null, of: string, n: number): string =>
  join(dir, `${name === null ? "" : `${[...name].slice(0, PART_NAME_CHARS).join("")}.`}${of}-${n}.part`);

/** Same length as the name of a generation's part file. */
const PROBE = "gen_00000000000000000000000000";

/**
 * @throws GenrouterError `unwritable` if no file can be created in a directory. Only an attempt shows this, because quotas and
 * mounts have no mode bits.
 */
const checkDirectory = async (wanted: string, dir: string, name: string | null): Promise<void> => {
  const probe = partOf(dir, name, `${PROBE}-${process.pid}`, 1);
  try {
    await (await open(probe, "wx")).close();
  } catch (fault) {
    throw unwritable(wanted, `no file can be made in ${dir} (${REASONS[codeOf(fault)] ?? fault})`);
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
};

/** In a directory with the sticky bit only the owner of a file, or of the directory, may replace it. */
const isStickyOfAnother = async (path: string, uid: number): Promise<boolean> => {
  const me = process.geteuid?.() ?? 0;
  const dir = await stat(dirname(path));
  return (dir.mode & 0o1000) !== 0 && me !== 0 && uid !== me && dir.uid !== me;
};

/** Checks that an existing file may be replaced. A read-only file is never replaced, whatever the permissions of the user are. */
const checkReplaceable = async (wanted: string, path: string): Promise<void> => {
  const at = await found(stat, path);
  if (!at) return;
  if ((at.mode & 0o222) === 0) throw unwritable(wanted, "it is a read-only file");
  await access(path, constants.W_OK).catch((fault: unknown) => Promise.reject(refused(wanted, fault)));
  if (await isStickyOfAnother(path, at.uid)) throw unwritable(wanted, "it is another user's file");
};

/**
 * @throws GenrouterError `unwritable` if a stream cannot be written. The stream is not opened, because a FIFO waits for its
 * reader.
 */
const checkStream = async ({ path, fd }: Place & { kind: "stream" }): Promise<void> => {
  try {
    if (fd === null) await access(path, constants.W_OK);
    else {
      await stat(`/dev/fd/${fd}`);
      // Writes nothing, but fails for a descriptor that is open for reading only.
      await writeTo(fd, new Uint8Array(0), 0, 0, null);
    }
  } catch (fault) {
    if (fd !== null && codeOf(fault) === "EBADF") throw refused(path, "it is open for reading alone");
    throw refused(path, codeOf(fault) === "ENOENT" ? "it is not open" : fault);
  }
};

/**
 * Checks before the generation is submitted and charged that results can be written. Leaves no files behind.
 * @throws GenrouterError `unwritable` with the reason
 */
export const checkPlace = async (wanted: string | undefined): Promise<void> => {
  const { dir, name } = await namesOf(wanted);
  if (name === null) return checkDirectory(wanted ?? "the current directory", dir, null);
  const place = await placeAt(join(dir, name));
  if (place.kind === "stream") return checkStream(place);
  const at = wanted ?? dir;
  await namesOf(place.path);
  await checkReplaceable(at, place.path);
  await checkDirectory(at, dirname(place.path), basename(place.path));
};
