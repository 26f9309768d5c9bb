// Receiver of webhooks: counts deliveries by the first part of their path, by HTTP and by TLS, and has a port that never responds.
import { CERTIFICATE, KEY } from "./certificate.ts";

/** Deliveries under one path. `again`: those whose id had arrived before. `sample`: one body. */
export type Tally = { count: number; again: number; sample: string };
export type Tallies = Record<string, Tally>;

const tallies: Tallies = {};
const seen = new Map<string, Set<string>>();

const receive = async (request: Request): Promise<Response> => {
  const [, , , name = ""] = request.url.split("/", 4);
  if (name === "counts") return Response.json(tallies);
  const body = await request.text();
  const id = request.headers.get("webhook-id") ?? "";
  if (!request.headers.get("webhook-signature")?.startsWith("v1,") || id === "") return new Response(null, { status: 400 });
  tallies[name] ??= { count: 0, again: 0, sample: body };
  const ids = seen.get(name) ?? new Set();
  seen.set(name, ids);
  if (ids.has(id)) tallies[name].again += 1;
  else ids.add(id);
  tallies[name].count += 1;
  return new Response("ok");
};

const served = { hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: receive } as const;
const plain = Bun.serve(served);
const secure = Bun.serve({ ...served, tls: { cert: CERTIFICATE, key: KEY } });
const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } });
process.stdout.write(`ready ${plain.port} ${secure.port} ${silent.port}\n`);
