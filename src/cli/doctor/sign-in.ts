// Doctor check of console sign-in: client addresses must be distinguishable behind proxies.
import type { Settings } from "../../config/schema.ts";
import { unnamedProxy } from "../../http/proxies.ts";
import { type Finding, warning } from "./finding.ts";

export const signInFindings = ({ console, server }: Pick<Settings, "console" | "server">): Finding[] => {
  const unnamed = console.enabled ? unnamedProxy(server) : null;
  return unnamed === null
    ? []
    : [warning("sign-in", unnamed, "GENROUTER_SERVER__TRUSTED_PROXIES=127.0.0.1, or the address or network of your proxy")];
};
