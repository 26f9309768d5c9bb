// The PostgreSQL server of a cluster, which can be crashed and restarted, with a record of its outages.
import { connect } from "../../src/store/postgres/connections.ts";
import { openServer, type Server } from "../postgres/server.ts";
import type { Span } from "./take-over.ts";

export type ClusterServer = Server & {
  /** The times at which it was unavailable. */
  outages: Span[];
  /** A new, empty database. @returns its address */
  create(name: string): Promise<string>;
  drop(name: string): Promise<void>;
  /** Stops it, and starts it again `pauseMs` later. */
  restart(how: "crash" | "fast", pauseMs: number): Promise<void>;
};

export const openClusterServer = async (): Promise<ClusterServer> => {
  const server = await openServer();
  const outages: Span[] = [];
  const report = async (statement: string) => {
    const line = await connect({ url: server.url("postgres"), prepare: true });
    await line.script(statement).finally(line.close);
  };
  return {
    ...server,
    outages,
    create: async (name) => {
      await report(`CREATE DATABASE ${name}`);
      return server.url(name);
    },
    drop: (name) => report(`DROP DATABASE ${name} WITH (FORCE)`),
    restart: async (how, pauseMs) => {
      const span = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
      outages.push(span);
      await server.kill(how);
      await Bun.sleep(pauseMs);
      await server.start();
      span.toMs = Date.now();
    },
  };
};
