// Two-faced file servers: a property of the request decides which of two files it receives.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { Roll } from "./orders.ts";

/** The properties of one request for one link that a face may use. */
export type Asking = {
  /** The number of earlier requests for this link, and the time since the first. */
  n: number;
  afterMs: number;
  agent: string;
  range: string | null;
  method: string;
  /** The client's port, and the number of older connections of this link. */
  port: number;
  connection: number;
  /** Whether the client is the service's process. */
  isService: () => boolean;
};
export type Face = { kind: string; says: string; isFirst: (asking: Asking) => boolean };

const startOf = (range: string | null): number => Number(/^bytes=(\d+)-/.exec(range ?? "")?.[1] ?? 0);

/** Draws one face of each kind. */
const KINDS: Record<string, (roll: Roll) => Omit<Face, "kind">> = {
  range: (roll) =>
    roll.pick([
      { says: "with a range", isFirst: ({ range }) => range !== null },
      { says: "without a range", isFirst: ({ range }) => range === null },
      { says: "from its beginning", isFirst: ({ range }) => startOf(range) === 0 },
      { says: "not from its beginning", isFirst: ({ range }) => startOf(range) > 0 },
    ]),
  agent: (roll) =>
    roll.pick([
      { says: "by the agent genrouter", isFirst: ({ agent }) => agent.includes("genrouter") },
      { says: "by any other agent", isFirst: ({ agent }) => !agent.includes("genrouter") },
      { says: "by an agent other than Bun", isFirst: ({ agent }) => !agent.startsWith("Bun/") },
    ]),
  address: (roll) =>
    roll.pick([
      { says: "by the service's process", isFirst: ({ isService }) => isService() },
      { says: "by any other process", isFirst: ({ isService }) => !isService() },
      { says: "on its first connection", isFirst: ({ connection }) => connection === 0 },
      { says: "on a connection of an odd port", isFirst: ({ port }) => port % 2 === 1 },
    ]),
  order: (roll) => {
    const first = roll.whole(1, 5);
    return roll.pick([
      { says: `among the first ${first}`, isFirst: ({ n }) => n < first },
      { says: `after the first ${first}`, isFirst: ({ n }) => n >= first },
      { says: "every second time", isFirst: ({ n }) => n % 2 === 0 },
    ]);
  },
  time: (roll) => {
    const ms = roll.whole(2, 120);
    return roll.pick([
      { says: `within ${ms} ms`, isFirst: ({ afterMs }) => afterMs < ms },
      { says: `after ${ms} ms`, isFirst: ({ afterMs }) => afterMs >= ms },
      { says: `in every second ${ms} ms`, isFirst: ({ afterMs }) => Math.floor(afterMs / ms) % 2 === 0 },
    ]);
  },
};
export const KINDS_OF_FACES: readonly string[] = Object.keys(KINDS);

export const drawFace = (at: number, roll: Roll): Face => {
  const kind = KINDS_OF_FACES[at % KINDS_OF_FACES.length] ?? "";
  const drawn = KINDS[kind]?.(roll);
  if (!drawn) throw new Error(`there is no face ${kind}`);
  return { kind, ...drawn };
};

/** Whether a process owns the client end of a connection, which stands for its address on one machine. */
const isOfProcess = (pid: number, fromPort: number, toPort: number): boolean => {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, "0");
  const line = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((each) => each.trim().split(/\s+/))
    .find(([, near = "", far = ""]) => near.endsWith(`:${hex(fromPort)}`) && far.endsWith(`:${hex(toPort)}`));
  const socket = `socket:[${line?.[9]}]`;
  const held = (fd: string) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`) === socket;
    } catch {
      return false;
    }
  };
  return line !== undefined && readdirSync(`/proc/${pid}/fd`).some(held);
};

type File = { bytes: Uint8Array; mime: string };
/** Serves a file, with or without range requests. */
const answerWith = ({ bytes, mime }: File, request: Request, hasRanges: boolean): Response => {
  const headers: Record<string, string> = { "content-type": mime, ...(hasRanges ? { "accept-ranges": "bytes" } : {}) };
  const range = hasRanges ? /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "") : null;
  if (!range) return new Response(Buffer.from(bytes), { headers });
  const from = Number(range[1]);
  const to = range[2] ? Math.min(Number(range[2]), bytes.length - 1) : bytes.length - 1;
  if (from >= bytes.length) return new Response(null, { status: 416, headers: { "content-range": `bytes */${bytes.length}` } });
  return new Response(Buffer.from(bytes.subarray(from, to + 1)), {
    status: 206,
    headers: { ...headers, "content-range": `bytes ${from}-${to}/${bytes.length}` },
  });
};

export type Faces = {
  host: string;
  /** Serves two files at one URL; without a face only the first. */
  at(first: File, second?: File, face?: Face, hasRanges?: boolean): string;
  stop(): Promise<void>;
};

/** @param servicePid returns the process id of the service; called on demand */
export const openFaces = (servicePid: () => number): Faces => {
  type Link = {
    sinceMono: number | null;
    ports: Map<number, number>;
    asked: number;
    answer: (request: Request, asking: Asking) => Response;
  };
  const links: Link[] = [];
  const server: Bun.Server<undefined> = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 120,
    fetch: (request): Response => {
      const link = links[Number(new URL(request.url).pathname.split("/")[1])];
      if (!link) return new Response(null, { status: 404 });
      const nowMono = performance.now();
      link.sinceMono ??= nowMono;
      const port = server.requestIP(request)?.port ?? 0;
      const connection = link.ports.get(port) ?? link.ports.size;
      link.ports.set(port, connection);
      return link.answer(request, {
        ...{ n: link.asked++, afterMs: nowMono - link.sinceMono, method: request.method, port, connection },
        ...{ agent: request.headers.get("user-agent") ?? "", range: request.headers.get("range") },
        isService: () => isOfProcess(servicePid(), port, server.port ?? 0),
      });
    },
  });
  return {
    host: server.url.host,
    at: (first, second, face, hasRanges = true) => {
      const answer: Link["answer"] = (request, asking) =>
        answerWith(second && face && !face.isFirst(asking) ? second : first, request, hasRanges);
      links.push({ sinceMono: null, ports: new Map(), asked: 0, answer });
      return `${server.url.origin}/${links.length - 1}/file`;
    },
    stop: () => server.stop(true),
  };
};
