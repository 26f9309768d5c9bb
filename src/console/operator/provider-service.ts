// Provider operations of the operator pages: credential sources, set and delete, and running work.
//
// A credential is never returned.
import type { ProviderRow } from "../../routing/inventory.ts";
import type { KeyChecked, KeySet, KeySourceView, KeysChecked, ProvidersPage } from "../operator-dto.ts";
import { ConsoleRefused, type ConsoleRequest } from "../request-context.ts";
import { named, type OperatorDeps, signed } from "./deps.ts";

const sourceOf = (key: ProviderRow["key"]): KeySourceView | null =>
  key === null ? null : { from: key.from, setAtMs: key.from === "vault" ? key.setAtMs : null };

/** Checks the key in use of each interface of an account that has a route, on one of its routes. Nothing is bought. */
const checkKeys = async ({ admin }: Pick<OperatorDeps, "admin">, account: string): Promise<KeyChecked[]> => {
  const interfaces = (await admin.listProviders({})).filter((row) => row.account === account);
  const routes = await admin.listRoutes({ model: null, provider: null });
  const checked = interfaces.map(async ({ id, name }): Promise<KeyChecked[]> => {
    const route = routes.find(({ provider, state }) => provider === id && state !== "no key");
    if (!route) return [];
    // The key is stored already, so a check that cannot run is reported as its result.
    const { check } = await admin.checkRoute({ id: route.id }).catch((fault: unknown) => ({
      check: { kind: "unclear", detail: fault instanceof Error ? fault.message : String(fault) } as const,
    }));
    if (check.kind !== "refused")
      return [{ provider: id, name, kind: check.kind, detail: "detail" in check ? check.detail : null }];
    return [{ provider: id, name, kind: check.kind, detail: `${check.failure.class}: ${check.failure.detail}` }];
  });
  return (await Promise.all(checked)).flat();
};

export const createProviderService = ({ admin }: OperatorDeps) => ({
  list: async (): Promise<ProvidersPage> => {
    const [rows, routes] = [await admin.listProviders({}), await admin.listRoutes({ model: null, provider: null })];
    return {
      providers: [...Map.groupBy(rows, ({ account }) => account)].map(([account, interfaces]) => ({
        account,
        name: interfaces[0]?.name ?? account,
        storedAtMs: interfaces[0]?.storedAtMs ?? null,
        keyExample: interfaces[0]?.keyForm?.example ?? null,
        interfaces: interfaces.map(({ id, name, key }) => ({
          ...{ id, name, key: sourceOf(key) },
          routes: routes
            .filter(({ provider }) => provider === id)
            .map((route) => ({
              ...{ id: route.id, model: route.model, state: route.state },
              reason: route.state === "off" || route.state === "down" ? route.reason : null,
            })),
        })),
      })),
    };
  },
  setKey: async (request: ConsoleRequest): Promise<KeySet> => {
    const { key } = request.body as { key: string };
    const { account, isShadowed } = await admin.setProviderKey(signed(request, { account: named(request, "account"), key }));
    return { account, isShadowed, checks: isShadowed ? [] : await checkKeys({ admin }, account) };
  },
  check: async (request: ConsoleRequest): Promise<KeysChecked> => {
    const account = named(request, "account");
    const rows = await admin.listProviders({});
    if (!rows.some((row) => row.account === account))
      throw new ConsoleRefused("not_found", `There is no provider account ${account}.`);
    return { account, checks: await checkKeys({ admin }, account) };
  },
  dropKey: async (request: ConsoleRequest): Promise<{ account: string }> => {
    const { account } = await admin.dropProviderKey(signed(request, { account: named(request, "account") }));
    return { account };
  },
});
