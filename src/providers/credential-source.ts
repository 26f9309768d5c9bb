// Credential source: the credential of each provider, and how it is replaced.
//
// A provider uses its own credential. If it has none, it uses the credential of the account that it belongs to.

import type { Providers } from "./port.ts";
import { usableKey } from "./provider-client.ts";

/** The credentials of the configuration and the vault, by provider and by account. */
export type Keys = Readonly<Record<string, { key?: string }>>;

export const keyOf = (keys: Keys, id: string, account: string): string | undefined => keys[id]?.key ?? keys[account]?.key;

/** A copy of `keys` in which the account has another credential, or none. */
const withKey = (keys: Keys, account: string, key: string | undefined): Keys => {
  const { [account]: _former, ...others } = keys;
  return key === undefined ? others : { ...others, [account]: { key } };
};

/** Creates the credential source. @param take sets or clears the credential of one provider */
export const createCredentialSource = (
  first: Keys,
  spoken: readonly (readonly [id: string, { account: string }])[],
  take: (id: string, key: string | undefined) => void,
): Pick<Providers, "rekey" | "rekeyAll" | "sharingKey"> => {
  let keys = first;
  const ownerOf = (id: string, account: string): string => (keys[id]?.key === undefined ? account : id);
  /** Replaces all credentials. If one credential cannot be sent, it changes none and throws. */
  const rekeyAll = (next: Keys): string[] => {
    const changed = spoken.filter(([id, { account }]) => keyOf(keys, id, account) !== keyOf(next, id, account));
    for (const [id, { account }] of changed) usableKey(id, keyOf(next, id, account));
    for (const [id, { account }] of changed) take(id, keyOf(next, id, account));
    keys = next;
    return changed.map(([id]) => id);
  };
  return {
    rekeyAll,
    sharingKey: (of) => {
      const account = spoken.find(([id]) => id === of)?.[1].account ?? of;
      const owner = ownerOf(of, account);
      return spoken.flatMap(([id, { account: own }]) => (ownerOf(id, own) === owner ? [id] : []));
    },
    rekey: (account, key) => {
      rekeyAll(withKey(keys, account, key));
      return spoken.flatMap(([id, { account: own }]) => (own === account ? [id] : []));
    },
  };
};
