// `genrouter nodes`: lists the nodes of a cluster with their open generations and takeovers.
//
// It includes nodes that have ended recently.
import type { Command } from "commander";
import { type NodeRow, nodeName } from "../../store/cluster-port.ts";
import { storeLocationOf, withReads } from "../read-only-store.ts";
import { type DirFlag, type JsonFlag, type Session, withDir, withExamples, withJson } from "../session.ts";
import { table } from "../terminal.ts";

/** Maximum number of ended nodes. */
const MAX_ENDED = 20;

const iso = (ms: number): string => new Date(ms).toISOString();
const seconds = (ms: number): number => Math.round(ms / 100) / 10;

const leaseText = (ms: number): string => (ms >= 0 ? `in ${seconds(ms)} s` : `expired ${seconds(-ms)} s ago`);
const aliveLines = (rows: readonly NodeRow[]): string[] =>
  table(
    ["NODE", "PID", "SINCE", "LEASE ENDS", "QUEUED", "RUNNING", "TOOK OVER"],
    rows.map((row) => [
      nodeName(row),
      String(row.pid),
      iso(row.openedAtMs),
      leaseText(row.leaseEndsInMs ?? 0),
      ...[row.queued, row.running, row.tookOver].map(String),
    ]),
    [1, 4, 5, 6],
  );
const endedLines = (rows: readonly NodeRow[], nameOf: (epoch: number) => string): string[] =>
  table(
    ["ENDED", "AT", "HOW", "TAKEN OVER FROM IT"],
    rows.map((row) => [
      nodeName(row),
      iso(row.endedAtMs ?? 0),
      row.endedBy === null ? (row.isVisit ? "command" : "closed") : `lease expired; fenced by ${nameOf(row.endedBy)}`,
      String(row.takenOver),
    ]),
    [3],
  );

const jsonOf = (row: NodeRow, nameOf: (epoch: number) => string) => ({
  node: nodeName(row),
  ...{ host: row.host, slot: row.slot, epoch: row.epoch, pid: row.pid, since: iso(row.openedAtMs) },
  ...{ alive: row.endedAtMs === null, is_command: row.isVisit },
  lease_ends_in_s: row.leaseEndsInMs === null ? null : seconds(row.leaseEndsInMs),
  ...{ queued: row.queued, running: row.running, took_over: row.tookOver, taken_over: row.takenOver },
  ended_at: row.endedAtMs === null ? null : iso(row.endedAtMs),
  ended_by: row.endedBy === null ? null : nameOf(row.endedBy),
});

export const addNodes = (program: Command, session: Session): void => {
  const { terminal } = session;
  const nodes = program
    .command("nodes")
    .description("list the nodes that share the database of store.url, and those that ended within the last week (operator)")
    .option("--all", "include commands that opened the database briefly")
    .action(async (flags: DirFlag & JsonFlag & { all?: true }) => {
      const place = storeLocationOf(session, flags);
      await withReads(place, async (reads, isServed) => {
        if (reads.nodes === null) {
          const isRunning = await isServed();
          if (flags.json) return terminal.print(JSON.stringify({ shared: false, served: isRunning, nodes: [] }));
          return terminal.print(
            `a data directory has a single writer: a service ${isRunning ? "runs" : "does not run"} on ${"dir" in place ? place.dir : "it"}`,
          );
        }
        const rows = await reads.nodes.list(MAX_ENDED, { visits: flags.all === true });
        const names = await reads.nodes.names(rows.flatMap(({ endedBy }) => endedBy ?? []));
        const nameOf = (epoch: number): string => names.get(epoch) ?? `node ${epoch}`;
        if (flags.json) {
          const all = rows.map((row) => jsonOf(row, nameOf));
          return terminal.print(JSON.stringify({ shared: true, served: await isServed(), nodes: all }));
        }
        const [alive, ended] = [rows.filter((row) => row.endedAtMs === null), rows.filter((row) => row.endedAtMs !== null)];
        if (alive.length === 0) terminal.print("no node is live");
        else for (const line of aliveLines(alive)) terminal.print(line);
        if (ended.length > 0) for (const line of ["", ...endedLines(ended, nameOf)]) terminal.print(line);
      });
    });
  withExamples(withJson(withDir(nodes)), "nodes", "nodes --json | jq -r '.nodes[] | select(.alive) | .node'");
};
