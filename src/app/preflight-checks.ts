// Checks of a start that concern several settings; `config check` runs the same.

import { requireSeller, requireStripeSettings } from "../billing/validate-config.ts";
import { BadSetting, type Settings } from "../config/schema.ts";
import { requireBucket } from "../files/create-storage.ts";
import { requireMailSettings } from "../mail/validate-config.ts";
import { readAllowed } from "../media/host-allowlist.ts";
import { catalogueOf, dialectsOf, requireKnownProviders } from "../routing/load-catalogue.ts";
import { requireNoBackupDir } from "../store/create-store.ts";
import type { Mode } from "../store/store.ts";
import { readWebhookHosts } from "../webhooks/hosts.ts";

/** Wildcard addresses in parsed form; no link can lead to one. */
const ANY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "[::]", "[::ffff:0:0]"]);

/** Parses a host, which has many spellings: `0`, `::0` and `0x0` are wildcard addresses as well. @throws BadSetting */
const parsedHost = (host: string): string => {
  const url = `http://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}`;
  if (/[/?#@\\\s]/.test(host) || !URL.canParse(url))
    throw new BadSetting(
      `GENROUTER_SERVER__HOST: cannot listen at ${host}: it is not a valid address or host name; set it or --host to an address of this machine`,
    );
  return new URL(url).hostname;
};

/** Checks the address that links, provider callbacks and pages use. @throws BadSetting */
export const requireReachableUrl = ({ server }: Pick<Settings, "server">): void => {
  const { host, port, public_url: publicUrl } = server;
  const listening = parsedHost(host);
  const reached = publicUrl === "" ? listening : new URL(publicUrl).hostname;
  if (ANY_ADDRESS.has(reached))
    throw new BadSetting(
      `GENROUTER_SERVER__PUBLIC_URL: ${publicUrl || host} is not an address for links; set the URL at which clients reach the service, for example https://genrouter.example.com or http://127.0.0.1:${port}`,
    );
  if (publicUrl !== "" && new URL(publicUrl).pathname !== "/")
    throw new BadSetting(
      `GENROUTER_SERVER__PUBLIC_URL: ${publicUrl} must not have a path; use a host name of its own, for example https://genrouter.example.com`,
    );
};

/**
 * The checks in the order of a start; each throws one line, BadSetting, BadAllowEntry or CatalogueError.
 * @param mode null if it is unknown whether the simulator is meant @param origins source of each setting
 */
export const startChecks = (
  settings: Settings,
  mode: Mode | null,
  origins?: ReadonlyMap<string, string>,
): (() => void | Promise<void>)[] => [
  () => requireKnownProviders(settings, dialectsOf(settings), origins),
  () => requireReachableUrl(settings),
  () => void readAllowed(settings.media.allow, origins?.get("media.allow")),
  () => void readWebhookHosts(settings.webhooks.allow, mode === "test", origins?.get("webhooks.allow")),
  () => requireBucket(settings, settings.store.url !== ""),
  () => requireNoBackupDir(settings),
  () => requireStripeSettings(settings, mode),
  () => requireSeller(settings),
  () => requireMailSettings(settings),
  () => void catalogueOf(settings, mode === "test"),
];
