// The desk of keys and usage behind real HTTP, beside a real service whose keys they are; who asks is said by a header.
import { Value } from "@sinclair/typebox/value";
import { CommandFault } from "../../src/cli/exits.ts";
import type { ConsoleAsk, ConsoleRoute } from "../../src/console/ask.ts";
import type { Asker } from "../../src/console/key-desk.ts";
import { keyRoutes } from "../../src/console/key-routes.ts";
import type { Actor, OfficeDeed, OfficeOutcome } from "../../src/deeds.ts";
import { openOffice } from "../../src/office/office.ts";
import { newReference } from "../../src/office/reference.ts";
import { Refusal } from "../../src/refusal.ts";
import { marketOver } from "../cli/market.ts";
import type { House } from "../house.ts";
import { sampleCatalogue } from "../sample/catalogue.ts";

class Forbidden extends Error {}

const statusOf = (fault: unknown): number => {
  if (fault instanceof Refusal) return fault.status;
  if (fault instanceof Forbidden) return 403;
  return fault instanceof CommandFault ? 409 : 500;
};

const matched = (route: ConsoleRoute, method: string, path: string): Record<string, string> | undefined => {
  const names: string[] = [];
  const pattern = route.path
    .replace(/[.]/g, "\\.")
    .replace(/:(\w+)/g, (_: string, name: string) => `([^/]+)${names.push(name) ? "" : ""}`);
  const match = route.method === method ? new RegExp(`^${pattern}$`).exec(path) : null;
  return match ? Object.fromEntries(names.map((name, n) => [name, match[n + 1] ?? ""])) : undefined;
};

/** Answers the API of the console for `who`, and everything else with `page`. */
export const openKeyStage = (house: House, dir: string, page: (path: string) => Promise<Response> | Response) => {
  const whos = new Map<string, Asker>();
  const told: Actor[] = [];
  const { submit: _, ...market } = marketOver(house.store, dir);
  const { models } = sampleCatalogue();
  const office = openOffice({
    ...{ reads: house.store, mode: "test", clock: house.clock, submit: null, ...market },
    market: { ...market.market, models: () => models },
    post: (deed: OfficeDeed): Promise<OfficeOutcome> => house.rooms.post(deed),
  });
  const noting =
    <A extends { by: Actor }, R>(run: (ask: Omit<A, "by">) => Promise<R>) =>
    ({ by, ...ask }: A): Promise<R> => {
      told.push(by);
      return run(ask);
    };
  const routes = keyRoutes({
    reads: house.store,
    office: {
      listKeys: (ask) => office.listKeys(ask),
      createKey: noting((ask) => office.createKey(ask as Parameters<typeof office.createKey>[0])),
      setKey: noting((ask) => office.setKey(ask as Parameters<typeof office.setKey>[0])),
      rotateKey: noting((ask) => office.rotateKey(ask as Parameters<typeof office.rotateKey>[0])),
      revokeKey: noting((ask) => office.revokeKey(ask as Parameters<typeof office.revokeKey>[0])),
    },
    models: () => models,
    rollUpUsage: house.rooms.upkeep.rollUpUsage,
    newReference: () => newReference("key"),
    forbid: (message) => {
      throw new Forbidden(message);
    },
    clock: house.clock,
  });
  const answer = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    for (const route of routes) {
      const params = matched(route, request.method, url.pathname);
      if (!params) continue;
      const who = whos.get(request.headers.get("x-who") ?? "me");
      if (!who) return Response.json({ error: { code: "unauthorized", message: "Sign in." } }, { status: 401 });
      const text = await request.text();
      const body: unknown = text === "" ? null : JSON.parse(text);
      try {
        if (route.body && !Value.Check(route.body, body)) throw new Refusal("invalid_request", "The body is not of its form.");
        const ask = { params, query: url.searchParams, body, who: { ...who, personId: "per_1", email: "ada@example.com" } };
        const made = await (route.answer as (ask: ConsoleAsk) => Promise<Response | object>)(ask as unknown as ConsoleAsk);
        return made instanceof Response ? made : Response.json(made);
      } catch (fault) {
        const message = fault instanceof Error ? fault.message : String(fault);
        return Response.json({ error: { code: "refused", message } }, { status: statusOf(fault) });
      }
    }
    return page(url.pathname);
  };
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });
  return { url: `http://127.0.0.1:${server.port}`, whos, told, stop: () => server.stop(true) };
};
