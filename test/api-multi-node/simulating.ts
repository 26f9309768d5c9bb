// A node with providers that are simulated, over a database and a bucket, started from the binary and asked with the key that it prints.
import { type Child, start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";

export type Shown = { id: string; status: string; attempts: number; output: { urls: string[] } | null };
export type SimulatingNode = { node: Child; ask: (path: string, init?: RequestInit) => Promise<Shown> };

/** Resolves when it listens. `ask`: a path below /v1, as JSON. */
export const serveSimulating = async (env: Record<string, string>): Promise<SimulatingNode> => {
  const node = start([...PROGRAM, "serve", "--simulate", "--port", "0"], env);
  const [, url = "", key = ""] = await node.hears(/^url (\S+)\nkey (\S+)$/m);
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const ask = async (path: string, init: RequestInit = {}) =>
    (await (await fetch(`${url}/v1${path}`, { ...init, headers })).json()) as Shown;
  return { node, ask };
};
