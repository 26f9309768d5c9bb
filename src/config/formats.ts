// Forms of settings that no pattern can tell, with the words for them.
import { FormatRegistry } from "@sinclair/typebox";
import { networksIn } from "./cidr-list.ts";

FormatRegistry.Set("networks", (text) => networksIn(text) !== undefined);
// A port beyond 65535 and a bracket that is left open pass for an address by any pattern.
FormatRegistry.Set("address", (text) => text === "" || URL.canParse(text.replaceAll("{bucket}", "bucket")));

export const NETWORKS = {
  format: "networks",
  expects: "addresses or networks such as 10.0.0.0/8, separated by commas",
} as const;

/** An address to build others from: what came after a query or fragment would be lost in them. `expects` is the pattern in words. */
export const ADDRESS = {
  format: "address",
  pattern: "^(https?://[^/?#@\\s\\\\]+(/[^?#\\s]*)?)?$",
  expects: "an address that begins with http:// or https://, without user, query (?) or fragment (#)",
} as const;
