// Creates one webhook endpoint for each account of a data directory, without a running service.
import { newId } from "../../src/domain/ids.ts";
import { openSqliteStore } from "../../src/store/sqlite/client.ts";
import { inParts, type Tenant } from "./service.ts";

/** Allows endpoints on this machine. */
export const ALLOWS_LOCAL = { GENROUTER_WEBHOOKS__ALLOW: "127.0.0.1" };
/** A closed port. */
export const CLOSED = "http://127.0.0.1:9/";

export type Endpoint = { seq: number; accountSeq: number };

/** @returns the endpoints in the order of the accounts */
export const addEndpoints = async (
  dir: string,
  tenants: readonly Pick<Tenant, "accountSeq" | "keySeq">[],
  url = CLOSED,
): Promise<Endpoint[]> => {
  const store = await openSqliteStore({ dir, mode: "test" });
  const atMs = Date.now();
  const endpoints: Endpoint[] = [];
  for (const part of inParts(tenants)) {
    const made = await store.commit(
      part.map(({ accountSeq, keySeq }) => ({
        ...{ mutation: "create-webhook-endpoint", id: newId("whe"), accountSeq, keySeq, url, events: "*" },
        ...{ description: "", enabled: true, atMs },
      })),
    );
    for (const [at, outcome] of made.entries()) {
      if (outcome.kind !== "done") throw new Error(`the store did not take an endpoint: ${JSON.stringify(outcome)}`);
      endpoints.push({ seq: outcome.seq ?? 0, accountSeq: part[at]?.accountSeq ?? 0 });
    }
  }
  await store.close();
  return endpoints;
};
