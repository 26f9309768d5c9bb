// Reads of the client: single models, quotes, generations, balance, usage, ledger and end users.
import type { components, operations } from "./api.ts";
import { createEndUsers, type EndUser, type EndUsers } from "./end-users.ts";
import type { Generation } from "./errors.ts";
import { asJson, type CallOptions, type ClientEnvironment, sendRequest } from "./request.ts";

type Schemas = components["schemas"];
type QueryOf<Operation extends keyof operations> = NonNullable<operations[Operation]["parameters"]["query"]>;
export type Quote = Schemas["Quote"];
export type Balance = Schemas["Balance"];
export type Usage = Schemas["Usage"];
export type LedgerEntry = Schemas["LedgerEntry"];
/** Filters of a list. `limit` is the number of items of a request; the iteration continues with the next page. */
export type GenerationFilter = QueryOf<"listGenerations">;
export type LedgerFilter = QueryOf<"listLedger">;
export type UsageQuery = QueryOf<"readUsage">;

export type Reading = {
  /** Returns one model of the list. Needs no key. */
  model(id: string, options?: CallOptions): Promise<Schemas["ModelEntry"]>;
  /** Returns the JSON Schema of a model's input. Needs no key. */
  modelSchema(id: string, options?: CallOptions): Promise<Record<string, unknown>>;
  /** Generations of the account, newest first. Each page is requested when the iteration reaches it. */
  list(filter?: GenerationFilter, options?: CallOptions): AsyncGenerator<Generation, void, undefined>;
  /** Returns the balance of the account and the limits of the key. */
  balance(options?: CallOptions): Promise<Balance>;
  /** Returns the usage by day, model, key or end user. By end user it is one page. */
  usage(query?: UsageQuery, options?: CallOptions): Promise<Usage>;
  /** Transfers of the account, newest first. Each page is requested when the iteration reaches it. */
  ledger(filter?: LedgerFilter, options?: CallOptions): AsyncGenerator<LedgerEntry, void, undefined>;
  endUsers: EndUsers;
};

type Page<Item> = { data: Item[]; next: string | null };
type Query = Readonly<Record<string, string | number | Readonly<Record<string, string>> | undefined>>;

/** A member of a query; an object becomes a member for each of its own, such as `metadata[order]`. */
const membersOf = (name: string, value: Query[string]): [name: string, value: string][] => {
  if (value === undefined) return [];
  if (typeof value !== "object") return [[name, String(value)]];
  return Object.entries(value).map(([inner, text]) => [`${name}[${inner}]`, text]);
};

/** @param bearer the headers that authorize a call. @throws GenrouterError `no_key` without a key */
export const createReading = (world: ClientEnvironment, base: string, bearer: () => Record<string, string>): Reading => {
  const read = <T>(path: string, query: Query, headers: Record<string, string>, options: CallOptions): Promise<T> => {
    const { signal, tries, onRetry } = options;
    const sent = Object.entries(query).flatMap(([name, value]) => membersOf(name, value));
    const url = `${base}/v1/${path}${sent.length === 0 ? "" : `?${new URLSearchParams(sent)}`}`;
    return sendRequest(world, { url, init: { headers }, signal, tries, onRetry }, asJson<T>);
  };
  const each = async function* <Item>(path: string, filter: Query, options: CallOptions): AsyncGenerator<Item, void, undefined> {
    for (let query = filter; ; ) {
      const { data, next }: Page<Item> = await read(path, query, bearer(), options);
      yield* data;
      if (next === null) return;
      query = { ...filter, after: next };
    }
  };
  return {
    model: (id, options = {}) => read(`models/${encodeURIComponent(id)}`, {}, {}, options),
    modelSchema: (id, options = {}) => read(`models/${encodeURIComponent(id)}/schema`, {}, {}, options),
    list: (filter = {}, options = {}) => each<Generation>("generations", filter, options),
    balance: async (options = {}) => read<Balance>("balance", {}, bearer(), options),
    usage: async (query = {}, options = {}) => read<Usage>("usage", query, bearer(), options),
    ledger: (filter = {}, options = {}) => each<LedgerEntry>("ledger", filter, options),
    endUsers: createEndUsers(world, base, bearer, (filter = {}, options = {}) => each<EndUser>("end_users", filter, options)),
  };
};
