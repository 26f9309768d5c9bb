// Log fields of a control request: principal, target and credits.
//
// Keys and e-mail addresses are never logged.

import type { Principal } from "../domain/mutations.ts";
import type { Json } from "../domain/types.ts";
import type { EventFields } from "../logging/events.ts";

/** Members that name the target; the first one present is used. `account` is a provider account. */
const TARGETS = ["accountId", "id", "generationId", "account", "provider", "user", "name"] as const;
/** Members with an amount. */
const AMOUNTS = ["credits", "creditCredits"] as const;

/** @param ask the unvalidated request, which may not be an object */
export const controlFields = (operation: string, ask: Json | undefined, { id, name }: Principal): EventFields => {
  const text = typeof ask === "object" && ask !== null && !Array.isArray(ask) ? ask : {};
  const about = TARGETS.map((member) => text[member]).find((value) => typeof value === "string");
  const credits = AMOUNTS.map((member) => text[member]).find((value) => typeof value === "number");
  return {
    event: operation,
    principal: name === "" || name === id ? id : `${name} (${id})`,
    // An e-mail address is not logged; the audit log contains it.
    ...(typeof about === "string" && !about.includes("@") ? { target: about } : {}),
    ...(typeof credits === "number" ? { credits: operation === "takeCredits" ? -credits : credits } : {}),
  };
};
