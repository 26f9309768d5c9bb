// Webhook secrets: derived from the secret of the database, and never stored.
//
// A secret is the HMAC of a name and a version under a key that the database's secret yields. A stored secret would have to be
// sealed with a file that every node and every restored backup needs; without it, no endpoint could be verified any more.
import { createHmac } from "node:crypto";

/** The version of a secret, and until when the previous version signs as well. */
export type SecretState = { version: number; previousUntilMs: number | null };

export type WebhookSecrets = {
  /** The current secret of an endpoint (`whe_…`), or the default secret of an account (`acc_…`), as `whsec_…`. */
  current(name: string, state: SecretState): string;
  /** The secrets that sign now: the current one, and the previous one until its overlap ends. */
  valid(name: string, state: SecretState, nowMs: number): string[];
};

/** @param rootHex the key of the store for the purpose `webhooks`, in hex */
export const createWebhookSecrets = (rootHex: string): WebhookSecrets => {
  const root = Buffer.from(rootHex, "hex");
  const secretOf = (name: string, version: number): string =>
    `whsec_${createHmac("sha256", root).update(`${name} ${version}`).digest("base64")}`;
  return {
    current: (name, { version }) => secretOf(name, version),
    valid: (name, { version, previousUntilMs }, nowMs) => [
      secretOf(name, version),
      ...(previousUntilMs !== null && nowMs < previousUntilMs ? [secretOf(name, version - 1)] : []),
    ],
  };
};
