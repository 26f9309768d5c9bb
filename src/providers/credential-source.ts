// Whose credential a provider is called with: its own, else that of the account that it belongs to; and how it is replaced.

import type { Providers } from "./port.ts";
import { usableKey } from "./provider-client.ts";

/** What the settings and the vault have, by provider and by account. */
export type Keys = Readonly<Record<string, { key?: string }>>;

export const keyOf = (keys: Keys, id: string, account: string): string | undefined => keys[id]?.key ?? keys[account]?.key;

/** The same keys with another one of an account, or none. */
const withKey = (keys: Keys, account: string, key: string | undefined): Keys => {
  const { [account]: _former, ...others } = keys;
  return key === undefined ? others : { ...others, [account]: { key } };
};

/** Replaces credentials. @param take gives a provider another one, or none */
export const createCredentialSource = (
  first: Keys,
  spoken: readonly (readonly [id: string, { account: string }])[],
  take: (id: string, key: string | undefined) => void,
): Pick<Providers, "rekey" | "rekeyAll" | "sharingKey"> => {
  let keys = first;
  const ownerOf = (id: string, account: string): string => (keys[id]?.key === undefined ? account : id);
  /** All of them or, where one cannot be sent, none. */
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
