// The operator's paths behind the console's own router, beside a real service that they tell of and change; who asks is a session's.

import type { Role, SignedIn } from "../../src/console/ask.ts";
import { operatorRoutes } from "../../src/console/operator/routes.ts";
import { openRouter } from "../../src/console/router.ts";
import { requestIdOf } from "../../src/http/answer.ts";
import { readSettings } from "../../src/settings.ts";
import type { Json, JsonObject } from "../../src/terms.ts";
import type { House } from "../house.ts";
import { officeOf } from "../house-office.ts";
import { sampleCatalogue } from "../sample/catalogue.ts";

const COOKIE = /(?:^|; )session=([^;]+)/;

const whoIs = (role: Role): SignedIn => ({
  ...{ personSeq: 1, personId: `per_${role}`, email: `${role}@example.com`, name: role, role },
  ...{ accountSeq: null, accountId: null, sessionId: `ses_${role}` },
});

export type Told = { status: number; told: JsonObject & { [name: string]: Json }; text: string };

/** Answers the operator's API for the sessions `member`, `viewer` and `operator`, and everything else with `page`. */
export const openOperatorStage = async (
  house: House,
  dir: string,
  page: (request: Request) => Promise<Response> | Response = () => new Response(null, { status: 404 }),
) => {
  const settings = readSettings({
    GENROUTER_PROVIDERS__FAL__KEY: "fal-key",
    GENROUTER_PROVIDERS__REPLICATE__KEY: "replicate-key",
  });
  const { store, clock, rooms } = house;
  const office = await officeOf({ settings, store, catalogue: sampleCatalogue(), clock, dir, rooms: () => rooms });
  const answer = openRouter({
    routes: operatorRoutes({ office, reads: store, ...(await rooms.operating()) }),
    sessions: {
      cookieOf: (request) => COOKIE.exec(request.headers.get("cookie") ?? "")?.[1] ?? null,
      find: async (token) => (token === "member" || token === "viewer" || token === "operator" ? whoIs(token) : null),
      csrfOf: (token) => `csrf-${token}`,
    },
    publicOrigin: null,
    log: () => undefined,
  });
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) =>
      new URL(request.url).pathname.startsWith("/console/api/operator/")
        ? answer(request, requestIdOf(request), "127.0.0.1")
        : page(request),
  });
  const url = `http://127.0.0.1:${server.port}`;
  return {
    url,
    ask: async (role: Role, method: string, path: string, body?: unknown): Promise<Told> => {
      const response = await fetch(`${url}/console/api/operator/${path}`, {
        method,
        headers: { cookie: `session=${role}`, "x-csrf-token": `csrf-${role}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, told: JSON.parse(text) as JsonObject, text };
    },
    stop: () => server.stop(true),
  };
};
export type OperatorStage = Awaited<ReturnType<typeof openOperatorStage>>;
