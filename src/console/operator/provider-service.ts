// Provider operations of the operator pages: credential sources, set and delete, and running work.
//
// A credential is never returned.
import type { ProviderRow } from "../../routing/inventory.ts";
import type { KeySet, KeySourceView, ProvidersPage } from "../operator-dto.ts";
import type { ConsoleRequest } from "../request-context.ts";
import { named, type OperatorDeps, signed } from "./deps.ts";

const sourceOf = (key: ProviderRow["key"]): KeySourceView | null =>
  key === null ? null : { from: key.from, setAtMs: key.from === "vault" ? key.setAtMs : null };

export const createProviderService = ({ admin }: OperatorDeps) => ({
  list: async (): Promise<ProvidersPage> => {
    const [rows, routes] = [await admin.listProviders({}), await admin.listRoutes({ model: null, provider: null })];
    return {
      providers: [...Map.groupBy(rows, ({ account }) => account)].map(([account, interfaces]) => ({
        account,
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
    return { account, isShadowed };
  },
  dropKey: async (request: ConsoleRequest): Promise<{ account: string }> => {
    const { account } = await admin.dropProviderKey(signed(request, { account: named(request, "account") }));
    return { account };
  },
});
