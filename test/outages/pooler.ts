// Starts an installed pgbouncer in transaction mode in front of PostgreSQL.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, start } from "../../src/torture/crash/processes.ts";
import { AS } from "../postgres/binaries.ts";

const program = Bun.which("pgbouncer", { PATH: `${process.env.PATH ?? ""}:/usr/sbin` });
/** Why pgbouncer is not available, or undefined. */
export const poolerReason = program === null ? "pgbouncer is not installed (apt-get install pgbouncer)" : undefined;

export type Pooler = { port: number; version: string; stop(): Promise<void> };

/** @param port the port of the PostgreSQL server */
export const openPooler = async (dir: string, port: number): Promise<Pooler> => {
  if (program === null) throw new Error(poolerReason);
  mkdirSync(dir, { recursive: true });
  const own = await freePort();
  const path = join(dir, "pgbouncer.ini");
  writeFileSync(
    path,
    `[databases]
* = host=127.0.0.1 port=${port} user=genrouter
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
pool_mode = transaction
auth_type = any
default_pool_size = 20
max_client_conn = 500
`,
  );
  chmodSync(path, 0o644);
  // pgbouncer refuses to run as root, as PostgreSQL does.
  const child = start([program, ...(AS.uid === undefined ? [] : ["-u", "nobody"]), path]);
  await child.hears(/process up/);
  return {
    port: own,
    version: spawnSync(program, ["--version"], { encoding: "utf8" }).stdout.split("\n")[0] ?? "",
    stop: async () => {
      child.kill("SIGKILL");
      await child.ended;
    },
  };
};
