// The operator's list of hosts that media may come from over plain http, on any port and at private addresses.

/** Says whether a host, written as `URL.host` has it (`name`, `name:port`, `[v6]:port`), is one the operator has named. */
export type AllowsHost = (host: string) => boolean;

/** An entry of the list that is no host. The message is one line that names the entry and what is allowed. */
export class BadAllowEntry extends Error {}

/** A host as it is compared: lower case, one spelling per address, no dot at the end of the name. */
const plain = (host: string): { name: string; port: string } | undefined => {
  if (!URL.canParse(`http://${host}`)) return undefined;
  const url = new URL(`http://${host}`);
  if (url.username !== "" || url.password !== "" || url.pathname !== "/" || url.search !== "" || url.hash !== "")
    return undefined;
  // The parser drops `:80`, so what was written is looked at: an entry with a port means that port only.
  return { name: url.hostname.replace(/\.$/, ""), port: /:(\d+)$/.exec(host)?.[1] ?? "" };
};

/**
 * Reads `media.allow`: entries `host` (every port) or `host:port`, comma separated, v6 addresses in brackets.
 * An entry for port 80 or 443 also matches the bare host, which is how `URL.host` writes the default port of either scheme.
 * @throws BadAllowEntry for an entry that is neither.
 */
export const readAllowed = (setting: string): AllowsHost => {
  const everyPort = new Set<string>();
  const onePort = new Set<string>();
  for (const entry of setting.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const host = plain(entry);
    if (!host) throw new BadAllowEntry(`media.allow: ${JSON.stringify(entry)} is not a host or host:port`);
    if (host.port === "") everyPort.add(host.name);
    else onePort.add(`${host.name}:${["80", "443"].includes(host.port) ? "" : host.port}`);
  }
  return (text) => {
    const host = plain(text);
    return host !== undefined && (everyPort.has(host.name) || onePort.has(`${host.name}:${host.port}`));
  };
};
