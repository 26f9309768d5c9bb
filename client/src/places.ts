// Where result files go: a regular file, a directory, or something that is written into as it is (a FIFO, a device, an open descriptor).
import { constants, write } from "node:fs";
import { access, lstat, open, readlink, realpath, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { GenrouterError } from "./errors.ts";

/** `stream`: its bytes are written in order, and nothing of it is replaced. */
export type Place = { kind: "file"; path: string } | { kind: "stream"; path: string; fd: number | null };

export const unwritable = (path: string, cause: unknown): GenrouterError =>
  new GenrouterError("unwritable", `${path} cannot be written: ${cause instanceof Error ? cause.message : cause}`, { cause });

/** Names of this process's open descriptors. They are written to as they are: opened again, a file would be cut and a socket refused. */
const DESCRIPTOR = /^\/(?:dev\/(?:fd\/(\d+)|(stdin|stdout|stderr))|proc\/(?:self|thread-self)\/fd\/(\d+))$/;
const STANDARD: Readonly<Record<string, number>> = { stdin: 0, stdout: 1, stderr: 2 };

/** The open descriptor that a path names, `/dev/stdout` for one; null for any other path. */
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

/** The status of a path; undefined where there is nothing. @throws GenrouterError `unwritable` when it cannot be reached */
const found = (look: typeof stat, path: string) =>
  look(path).catch((fault: unknown) => {
    if (codeOf(fault) === "ENOENT") return undefined;
    throw refused(path, fault);
  });

/** Where symbolic links lead, their last target included, which need not exist yet. */
const followed = async (path: string): Promise<string> => {
  if (await found(stat, path)) return realpath(path);
  if (!(await found(lstat, path))?.isSymbolicLink()) return path;
  return followed(resolve(await realpath(dirname(path)), await readlink(path)));
};

/** What a name stands for: links are followed. @throws GenrouterError `unwritable` for what no file can be written to */
export const placeAt = async (path: string): Promise<Place> => {
  const fd = descriptorOf(path);
  if (fd !== null) return { kind: "stream", path, fd };
  const at = await found(stat, path);
  if (at?.isDirectory()) throw unwritable(path, "it is a directory");
  if (at?.isSocket()) throw unwritable(path, "it is a socket");
  if (at !== undefined && !at.isFile()) return { kind: "stream", path, fd: null };
  return { kind: "file", path: await followed(path) };
};

/** What files are called: `name` for the first; null where they go into a directory, named after the generation and their type. */
export type Names = { dir: string; name: string | null };

/** @throws GenrouterError `unwritable` when there is no such directory. */
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

/** Characters of a long name that its part keeps: the part's own name must fit, too. */
const PART_NAME_CHARS = 40;

/** Where file `n` is kept until it is whole: beside its place, so that it can be renamed. */
export const partOf = (dir: string, name: string | null, of: string, n: number): string =>
  join(dir, `${name === null ? "" : `${[...name].slice(0, PART_NAME_CHARS).join("")}.`}${of}-${n}.part`);

/** As long as the name of a generation's part is. */
const PROBE = "gen_00000000000000000000000000";

/** @throws GenrouterError `unwritable` when no file can be made in a directory. Only an attempt tells: quotas and mounts have no mode bits. */
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

/** A file that is there is replaced as a whole; one that is marked read-only is not, whatever the rights of who asks. */
const checkReplaceable = async (wanted: string, path: string): Promise<void> => {
  const at = await found(stat, path);
  if (!at) return;
  if ((at.mode & 0o222) === 0) throw unwritable(wanted, "it is a read-only file");
  await access(path, constants.W_OK).catch((fault: unknown) => Promise.reject(refused(wanted, fault)));
  if (await isStickyOfAnother(path, at.uid)) throw unwritable(wanted, "it is another user's file");
};

/** @throws GenrouterError `unwritable` when a stream cannot be written. It is not opened: a FIFO waits for its reader. */
const checkStream = async ({ path, fd }: Place & { kind: "stream" }): Promise<void> => {
  try {
    if (fd === null) await access(path, constants.W_OK);
    else {
      await stat(`/dev/fd/${fd}`);
      // Nothing is written by it; one that is open for reading alone is told.
      await writeTo(fd, new Uint8Array(0), 0, 0, null);
    }
  } catch (fault) {
    if (fd !== null && codeOf(fault) === "EBADF") throw refused(path, "it is open for reading alone");
    throw refused(path, codeOf(fault) === "ENOENT" ? "it is not open" : fault);
  }
};

/**
 * Finds out whether results can be written to a place, before anything is generated and charged. Leaves nothing behind.
 * @throws GenrouterError `unwritable`, which says why not
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
