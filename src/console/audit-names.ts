// Names of the accounts, users, keys and purchases that audit entries mention.
import type { JsonObject } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";
import type { AuditRow, UserRow } from "../store/user-reads.ts";
import type { AuditName } from "./users-dto.ts";

export type AuditReads = Pick<StoreReads, "audit" | "account" | "key" | "purchase" | "users" | "searchAccounts">;

/** Members of details that have an id. */
const ID_MEMBERS = ["accountId", "userId", "id"] as const;
const idsIn = ({ target, detail }: { target: string | null; detail: JsonObject }): string[] =>
  [target, ...ID_MEMBERS.map((name) => detail[name])].filter((id) => typeof id === "string");

type Find = (id: string) => Promise<AuditName | undefined>;

const findersOf = (reads: AuditReads, users: readonly UserRow[]): Readonly<Record<string, Find>> => ({
  acc: async (id) => {
    const account = await reads.account(id);
    return account && { kind: "account", name: account.name, accountId: id };
  },
  per: async (id) => {
    const user = users.find((one) => one.id === id);
    return user && { kind: "user", name: user.name, accountId: user.accountId };
  },
  key: async (id) => {
    const key = await reads.key(id);
    return key && { kind: "key", name: key.name || key.start, accountId: key.accountId };
  },
  pur: async (id) => {
    const purchase = await reads.purchase(id);
    return purchase && { kind: "purchase", name: id, accountId: purchase.accountId };
  },
});

/** By id. An id without an entry has no name: it was deleted, or things of its kind have none. */
export const namesOf = async (
  reads: AuditReads,
  users: readonly UserRow[],
  lines: readonly AuditRow[],
): Promise<Record<string, AuditName>> => {
  const finders = findersOf(reads, users);
  const names = new Map<string, AuditName>();
  const learn = async (id: string): Promise<void> => {
    if (names.has(id)) return;
    const found = await finders[id.split("_")[0] ?? ""]?.(id);
    if (!found) return;
    names.set(id, found);
    if (found.accountId !== null) await learn(found.accountId);
  };
  for (const id of new Set(lines.flatMap(idsIn))) await learn(id);
  for (const { actor } of lines) if (actor.kind === "user") await learn(actor.id);
  return Object.fromEntries(names);
};

const ID = /^[a-z]+_[0-9a-z]{12,}$/;
const sameText = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** The id that a typed target means: an id, or the name of an account, or the name or address of a user. */
export const targetOf = async (reads: AuditReads, users: readonly UserRow[], text: string): Promise<string> => {
  // A name that looks like an id must not hide the entries of that id.
  if (ID.test(text)) return text;
  const user = users.find(({ email }) => sameText(email, text)) ?? users.find(({ name }) => sameText(name, text));
  const found = await reads.searchAccounts({ text, standing: "all", beforeSeq: null }, 50);
  return found.find(({ name }) => sameText(name, text))?.id ?? user?.id ?? text;
};
