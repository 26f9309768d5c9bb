// Fills the service for screenshots: an operator, keys, a purchase, uploaded files, a webhook endpoint and generations.
//
// The generations cover every media kind and result.

export type Pictured = { name: string; says: string; path: string; isOpen?: true };
type Shown = { id: string; status: string };

const PASSWORD = "a long enough password";
const ORDERS: readonly (readonly [model: string, input: Record<string, unknown>])[] = [
  ["sim-image-1", { prompt: "a tin robot on a windowsill" }],
  ["vidmodel-2.0-fast", { prompt: "a red kite over dunes", resolution: "480p", duration: 4 }],
  ["sim-image-1", { prompt: "paper boats on a pond at dusk" }],
  ["vidmodel-2.0-fast", { prompt: "waves below a lighthouse [sim:modelark:fail-later]", resolution: "480p", duration: 4 }],
  ["sim-image-1", { prompt: "[sim:refuse] something that no provider wants to make" }],
  ["vidmodel-2.0-mini", { prompt: "a train through the snow", resolution: "480p", duration: 5 }],
];
/** They run as long as screenshots are taken, so that the live view has content. */
const UNDER_WAY: typeof ORDERS = [
  ["vidmodel-2.0-fast", { prompt: "clouds over a harbour [sim:stuck]", resolution: "480p", duration: 4 }],
  ["sim-image-1", { prompt: "a fox in the fog [sim:stuck]" }],
  ["sim-image-1", { prompt: "a table under a plum tree [sim:stuck]" }],
];
const POLL_MS = 200;
const LONGEST_MS = 60_000;

/**
 * Creates the first operator and everything that the pages show.
 * @param receiverUrl of a webhook receiver
 * @returns the session cookie, an API key, and the pages with their URLs
 */
export const filled = async (url: string, token: string, receiverUrl: string) => {
  let cookie = "";
  let csrf = "";
  const ask = async <T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        origin: url,
        "content-type": "application/json",
        ...(cookie ? { cookie } : {}),
        ...(csrf ? { "x-csrf-token": csrf } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    const made = response.headers.get("set-cookie");
    if (made) cookie = made.split(";")[0] ?? "";
    return (await response.json()) as T;
  };
  const me = await ask<{ signedIn: { csrf: string; accountId: string } }>("POST", "/console/api/link/accept", {
    token,
    email: "ada@example.com",
    name: "Ada",
    password: PASSWORD,
  });
  ({ csrf } = me.signedIn);
  const { id: purchase } = await ask<{ id: string }>("POST", "/console/api/purchases", { amount_usd: 50 });
  await ask("POST", `/console/api/purchases/${purchase}/test`, { how: "pay" });
  const { id: open } = await ask<{ id: string }>("POST", "/console/api/purchases", { amount_usd: 100 });
  const terms = { expiresAtMs: null, models: null, limits: { day: 2000, week: null, month: 10000 } };
  const { key } = await ask<{ key: string }>("POST", "/console/api/keys", { name: "website", scope: "generate", ...terms });
  const none = { expiresAtMs: null, models: null, limits: { day: null, week: null, month: null } };
  await ask("POST", "/console/api/keys", { name: "dashboard", scope: "read", ...none });
  const authorization = { authorization: `Bearer ${key}` };
  await ask("POST", "/console/api/webhooks", { url: receiverUrl, description: "The website of the shop" });
  const ids: string[] = [];
  for (const [model, input] of ORDERS)
    ids.push((await ask<Shown>("POST", "/v1/generations", { model, input }, authorization)).id);
  for (const id of ids)
    for (const endMs = Date.now() + LONGEST_MS; Date.now() < endMs; await Bun.sleep(POLL_MS)) {
      const { status } = await ask<Shown>("GET", `/v1/generations/${id}`, undefined, authorization);
      if (status === "succeeded" || status === "failed") break;
    }
  let file = "";
  // Results are uploaded as files.
  for (const n of [3, 1, 0]) {
    const body = await (await fetch(`${url}/v1/generations/${ids[n]}/content`, { headers: authorization })).blob();
    const response = await fetch(`${url}/v1/files`, { method: "POST", headers: authorization, body });
    if (!response.ok) throw new Error(`the upload of a file: ${response.status} ${await response.text()}`);
    file = ((await response.json()) as Shown).id;
  }
  for (const [model, input] of UNDER_WAY) await ask<Shown>("POST", "/v1/generations", { model, input }, authorization);
  const [name = "", value = ""] = cookie.split("=");
  const account = me.signedIn.accountId;
  const [picture, video, , fallback] = ids;
  const pages: Pictured[] = [
    { name: "sign-in", says: "Sign in", path: "/console/sign-in", isOpen: true },
    { name: "playground", says: "Playground", path: "/console/playground?model=vidmodel-2.0-fast" },
    { name: "models", says: "Models", path: "/console/models" },
    { name: "model", says: "Model", path: "/console/models/vidmodel-2.0-fast" },
    {
      ...{ name: "media-field", says: "Playground with an uploaded picture" },
      path: `/console/playground?model=vidmodel-2.0-fast&use=${file}&kind=image`,
    },
    { name: "generations", says: "Generations", path: "/console/generations" },
    { name: "generation", says: "A generation with a fallback", path: `/console/generations/${fallback}` },
    { name: "picture", says: "A generation of a picture", path: `/console/generations/${picture}` },
    { name: "files", says: "Files", path: "/console/files" },
    { name: "keys", says: "API keys", path: "/console/keys" },
    { name: "webhooks", says: "Webhooks", path: "/console/webhooks" },
    { name: "credits", says: "Credits", path: "/console/credits" },
    { name: "checkout", says: "Test checkout", path: `/console/checkout/${open}` },
    { name: "receipt", says: "Receipt", path: `/console/receipts/${purchase}` },
    { name: "ledger", says: "Ledger", path: "/console/ledger" },
    { name: "usage", says: "Usage", path: "/console/usage" },
    { name: "profile", says: "Profile and sessions", path: "/console/profile" },
    { name: "users", says: "Users", path: "/console/operator/users" },
    { name: "overview", says: "Overview", path: "/console/operator/overview" },
    { name: "accounts", says: "Accounts", path: "/console/operator/accounts" },
    { name: "account", says: "An account", path: `/console/operator/accounts/${account}` },
    { name: "routes", says: "Routes", path: "/console/operator/routes" },
    { name: "providers", says: "Providers", path: "/console/operator/providers" },
    { name: "orphans", says: "Orphans", path: "/console/operator/orphans" },
    { name: "verification", says: "Ledger verification", path: "/console/operator/verification" },
    { name: "service", says: "Service", path: "/console/operator/service" },
    { name: "audit", says: "Audit log", path: "/console/operator/audit" },
    { name: "live", says: "Inspector: live", path: "/inspector" },
    { name: "replay", says: "Inspector: replay", path: `/inspector/${fallback ?? video}` },
    { name: "play", says: "Inspector: play", path: "/inspector/play" },
  ];
  return { cookie: { name, value }, key, pages };
};
