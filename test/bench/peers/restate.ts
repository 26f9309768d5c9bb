// Starts Restate's server with a durable handler: default settings (synced log), separate ports and directory.
import { join } from "node:path";
import { freePort } from "../../../src/torture/crash/processes.ts";
import { dropScratch, makeScratch } from "../../scratch.ts";
import { onServerCore } from "../machine.ts";
import { packageDir } from "./packages.ts";
import { isListening, type Storing, startPart } from "./parts.ts";

/** A one-way call that is due in a day: it is stored and stays queued, as on every other side. */
export const RESTATE_PATH = "/Generations/accept/send?delay=1d";
const HANDLER = join(import.meta.dir, "restate-handler.ts");

export const startRestate = async (): Promise<Storing> => {
  const program = join(packageDir(`@restatedev/restate-server-${process.platform}-${process.arch}`), "bin/restate-server");
  const home = makeScratch("bench-restate-");
  const [ingress, admin, fabric, handler] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const env = {
    RESTATE_BASE_DIR: join(home, "data"),
    RESTATE_NODE_NAME: "bench",
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_IP: "127.0.0.1",
    RESTATE_BIND_PORT: String(fabric),
    RESTATE_INGRESS__BIND_PORT: String(ingress),
    RESTATE_ADMIN__BIND_PORT: String(admin),
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LOG_FILTER: "warn",
    // The defaults, stated explicitly: the server responds only after the write is on disk.
    RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC: "false",
    RESTATE_BIFROST__LOCAL__ROCKSDB_DISABLE_WAL_FSYNC: "false",
  };
  const isHealthy = async () => (await fetch(`http://127.0.0.1:${admin}/health`)).ok && (await isListening(ingress));
  const server = await startPart("Restate", { words: onServerCore([program]), env, port: ingress, isUp: isHealthy });
  const words = onServerCore([process.execPath, HANDLER, String(handler)]);
  const answering = await startPart("the handler of Restate", {
    ...{ words, port: handler, isUp: () => isListening(handler), isOurs: true },
  });
  const stop = async () => {
    await answering.stop();
    await server.stop();
    dropScratch(home);
  };
  const known = await fetch(`http://127.0.0.1:${admin}/deployments`, {
    ...{ method: "POST", headers: { "content-type": "application/json" } },
    body: JSON.stringify({ uri: `http://127.0.0.1:${handler}`, use_http_11: true }),
  });
  if (!known.ok) {
    await stop();
    throw new Error(`Restate does not take its handler: ${(await known.text()).slice(0, 400)}`);
  }
  const stored = async () => {
    const asked = await fetch(`http://127.0.0.1:${admin}/query`, {
      ...{ method: "POST", headers: { "content-type": "application/json", accept: "application/json" } },
      body: JSON.stringify({ query: "SELECT count(*) AS count FROM sys_invocation" }),
    });
    return Number(((await asked.json()) as { rows: { count: number }[] }).rows[0]?.count);
  };
  return { port: ingress, filled: 0, pids: () => [...server.pids(), ...answering.pids()], stored, stop };
};
