// Parses `webhooks.allow`: hosts that webhook endpoints may have although they are http or private.
import { type AllowsHost, readAllowed } from "../media/host-allowlist.ts";

/** The owner of an address. `isOperatorMade`: an operator created the endpoint. */
export type AddressOwner = { accountId: string; isOperatorMade: boolean };
/** The hosts that an owner may use beside public https hosts. */
export type AllowsFor = (owner: AddressOwner) => AllowsHost;

const OF_ACCOUNT = /^(acc_[0-9a-z]+)@(.+)$/;

/**
 * Parses comma-separated entries. `host` or `host:port` is for endpoints that an operator creates, and with the simulator for all
 * accounts. `acc_…@host:port` is for one account.
 * @param from source of the setting, for the message
 * @throws BadAllowEntry
 */
export const readWebhookHosts = (setting: string, isSimulated: boolean, from = "GENROUTER_WEBHOOKS__ALLOW"): AllowsFor => {
  const shared: string[] = [];
  const byAccount = new Map<string, string[]>();
  for (const entry of setting.split(",").map((part) => part.trim())) {
    const [, accountId, host] = OF_ACCOUNT.exec(entry) ?? [];
    if (accountId === undefined || host === undefined) shared.push(entry);
    else byAccount.set(accountId, [...(byAccount.get(accountId) ?? []), host]);
  }
  const read = (entries: readonly string[]) => readAllowed(entries.join(","), from);
  const allowsShared = read(shared);
  const allowsOne = new Map([...byAccount].map(([accountId, hosts]) => [accountId, read(hosts)]));
  return ({ accountId, isOperatorMade }) => {
    const own = allowsOne.get(accountId);
    return (host) => ((isSimulated || isOperatorMade) && allowsShared(host)) || (own?.(host) ?? false);
  };
};
