// Parses `media.allow`, the operator's list of trusted media hosts.
//
// Trusted hosts may use plain http, any port and private addresses.

/** Reports whether the operator trusts a host in the form of `URL.host` (`name`, `name:port`, `[v6]:port`). */
export type AllowsHost = (host: string) => boolean;

/** An invalid entry of the list. The message is one line with the entry and the allowed forms. */
export class BadAllowEntry extends Error {}

/** Normalizes a host for comparison: lower case, one spelling for each address, no trailing dot. */
const plain = (host: string): { name: string; port: string } | undefined => {
  if (!URL.canParse(`http://${host}`)) return undefined;
  const url = new URL(`http://${host}`);
  if (url.username !== "" || url.password !== "" || url.pathname !== "/" || url.search !== "" || url.hash !== "")
    return undefined;
  // The URL parser drops `:80`, so the port is read from the original text. An entry with a port matches only that port.
  return { name: url.hostname.replace(/\.$/, ""), port: /:(\d+)$/.exec(host)?.[1] ?? "" };
};

/**
 * Parses `media.allow`: comma-separated entries `host` (every port) or `host:port`, with IPv6 addresses in brackets. An entry for
 * port 80 or 443 also matches the bare host, because `URL.host` omits the default port of either scheme.
 * @param from source of the setting, for the message
 * @throws BadAllowEntry if an entry has neither form
 */
export const readAllowed = (setting: string, from = "GENROUTER_MEDIA__ALLOW"): AllowsHost => {
  const everyPort = new Set<string>();
  const onePort = new Set<string>();
  for (const entry of setting.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const host = plain(entry);
    if (!host)
      throw new BadAllowEntry(
        `${from}: ${JSON.stringify(entry)} is not a valid host; expected host or host:port, separated by commas, for example media.example.com or 10.0.0.5:9000`,
      );
    if (host.port === "") everyPort.add(host.name);
    else onePort.add(`${host.name}:${["80", "443"].includes(host.port) ? "" : host.port}`);
  }
  return (text) => {
    const host = plain(text);
    return host !== undefined && (everyPort.has(host.name) || onePort.has(`${host.name}:${host.port}`));
  };
};
