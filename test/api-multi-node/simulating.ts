// A node with simulated providers over a database and a bucket, started as a process and called with the key that it prints.
import { type Child, start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";

export type Shown = { id: string; status: string; attempts: number; output: { urls: string[] } | null };
export type SimulatingNode = { node: Child; ask: (path: string, init?: RequestInit) => Promise<Shown> };

/** Resolves when the node listens. `ask` requests a path below /v1 and returns its JSON. */
export const serveSimulating = async (env: Record<string, string>): Promise<SimulatingNode> => {
  const node = start([...PROGRAM, "serve", "--simulate", "--port", "0"], env);
  const [, url = "", key = ""] = await node.hears(/^url (\S+)\nkey (\S+)$/m);
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const ask = async (path: string, init: RequestInit = {}) =>
    (await (await fetch(`${url}/v1${path}`, { ...init, headers })).json()) as Shown;
  return { node, ask };
};
