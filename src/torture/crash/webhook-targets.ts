// Webhook endpoints of the accounts of a crash run, and the addresses that some of its submissions name.
import { isSubscribed, type WebhookEvent } from "../../domain/webhooks.ts";
import { ask, type Tenant } from "./crash-fixture.ts";

/** An endpoint as the API created it. `account`: position in the list of tenants. */
export type CrashEndpoint = { id: string; account: number; path: string; events: readonly string[]; secret: string };
/** Who receives events, and how they are signed. `secrets`: the default secrets, by account. */
export type WebhookTargets = { endpoints: CrashEndpoint[]; secrets: string[] };

/** Events of the endpoints of an account; the choice repeats over the accounts. */
const SUBSCRIPTIONS: readonly (readonly (readonly string[])[])[] = [
  [["*"]],
  [["generation.succeeded", "generation.failed"], ["generation.failed"]],
  [],
];
/** Tenths of the submissions that name an address of their own. */
const OWN_TENTHS = 3;

/** Lets every account use the receiver, which is on this machine. */
export const WEBHOOK_SETTINGS = { GENROUTER_WEBHOOKS__ALLOW: "127.0.0.1" };

/** The path of the address that a submission names; undefined for a submission without one. The key decides, so repeats agree. */
export const ownPathOf = (account: number, key: string): string | undefined =>
  Number(Bun.hash(key) % 10n) < OWN_TENTHS ? `/own/${account}/${key}` : undefined;

/** The secret that signs the requests to a path; undefined for a path without a subscription. */
export const secretOf = ({ endpoints, secrets }: WebhookTargets, path: string): string | undefined => {
  const account = /^\/own\/(\d+)\//.exec(path)?.[1];
  return account === undefined ? endpoints.find((one) => one.path === path)?.secret : secrets[Number(account)];
};

/** The paths that receive an event of a generation. */
export const pathsOf = (
  { endpoints }: WebhookTargets,
  { account, key }: { account: number; key: string | null },
  type: WebhookEvent,
): string[] => {
  const own = key === null ? undefined : ownPathOf(account, key);
  const subscribed = endpoints.filter((one) => one.account === account && isSubscribed(one.events.join(" "), type));
  return [...subscribed.map(({ path }) => path), ...(own === undefined ? [] : [own])];
};

type Call = { url: string; key: string };
/** @throws for a response with another status */
export const requireAnswer = async ({ url, key }: Call, path: string, body: object | undefined, expected: number) => {
  const answer = await ask(url, key, { path, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  if (answer?.status !== expected) throw new Error(`${path}: answered ${JSON.stringify(answer)}`);
  return answer.body;
};

/** Creates the endpoints of all accounts through the API of a running service. @param receiverUrl origin of the receiver */
export const createTargets = async (url: string, tenants: readonly Tenant[], receiverUrl: string): Promise<WebhookTargets> => {
  const targets: WebhookTargets = { endpoints: [], secrets: [] };
  for (const [account, { key }] of tenants.entries()) {
    const call = { url, key };
    targets.secrets.push(String((await requireAnswer(call, "/v1/webhook_secret", undefined, 200)).secret));
    for (const [n, events] of (SUBSCRIPTIONS[account % SUBSCRIPTIONS.length] ?? []).entries()) {
      const path = `/endpoint/${account}/${n}`;
      const created = await requireAnswer(call, "/v1/webhook_endpoints", { url: `${receiverUrl}${path}`, events }, 201);
      targets.endpoints.push({ id: String(created.id), account, path, events, secret: String(created.secret) });
    }
  }
  return targets;
};
