// Registers setting formats that a pattern cannot express, with their descriptions.
import { FormatRegistry } from "@sinclair/typebox";
import { networksIn } from "./cidr-list.ts";

FormatRegistry.Set("networks", (text) => networksIn(text) !== undefined);
// A pattern would accept a port above 65535 and an unclosed bracket.
FormatRegistry.Set("address", (text) => text === "" || URL.canParse(text.replaceAll("{bucket}", "bucket")));

export const NETWORKS = {
  format: "networks",
  expects: "addresses or networks such as 10.0.0.0/8, separated by commas",
} as const;

/** A base URL. A query or fragment would be lost in URLs built from it. `expects` describes the pattern in words. */
export const ADDRESS = {
  format: "address",
  pattern: "^(https?://[^/?#@\\s\\\\]+(/[^?#\\s]*)?)?$",
  expects: "an address that begins with http:// or https://, without user, query (?) or fragment (#)",
} as const;
