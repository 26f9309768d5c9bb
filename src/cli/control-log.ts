// What the log's line of a control request holds: who asked, about whom, and for how many credits; never a key or an e-mail address.

import type { Json } from "../domain/types.ts";
import type { EventFields } from "../logging/events.ts";
import type { Principal } from "../store/mutations.ts";

/** Members of an ask that name what it is about, the first that is there counts. `account` is a provider's. */
const TARGETS = ["accountId", "id", "generationId", "account", "provider", "person", "name"] as const;
/** Members that hold an amount. */
const AMOUNTS = ["credits", "creditCredits"] as const;

/** @param ask as it came: it may not be an object */
export const controlFields = (operation: string, ask: Json | undefined, { id, name }: Principal): EventFields => {
  const said = typeof ask === "object" && ask !== null && !Array.isArray(ask) ? ask : {};
  const about = TARGETS.map((member) => said[member]).find((value) => typeof value === "string");
  const credits = AMOUNTS.map((member) => said[member]).find((value) => typeof value === "number");
  return {
    event: operation,
    actor: name === "" || name === id ? id : `${name} (${id})`,
    // A person may be named by an address, which is nobody's business: the audit log has it.
    ...(typeof about === "string" && !about.includes("@") ? { target: about } : {}),
    ...(typeof credits === "number" ? { credits: operation === "takeCredits" ? -credits : credits } : {}),
  };
};
