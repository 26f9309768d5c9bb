// Addresses of webhooks: which URLs endpoints and submissions may have, in the form that is stored.
import { refuse } from "../domain/api-errors.ts";
import { MAX_URL_CHARS } from "../domain/webhooks.ts";
import { type Forbidden, readUrl, vetUrl } from "../media/ssrf-guard.ts";
import type { EndpointRow } from "../store/webhook-reads.ts";
import type { AllowsFor } from "./hosts.ts";

/** Who sets an address. `keySeq` null: an operator. */
export type AddressSetter = { accountId: string; keySeq: number | null };

export type Addresses = {
  /**
   * The URL of a new endpoint, or a new URL of an endpoint. Tries reach the hosts of operators only if all URLs of the endpoint are of
   * operators. @throws ApiError `invalid_request`
   */
  ofEndpoint(setter: AddressSetter, url: string, former?: Pick<EndpointRow, "url" | "keySeq">): string;
  /**
   * The address of a submission. It throws for a malformed URL, and the returned function for one that may not be used now. A repeat of
   * an earlier request needs no allowed address.
   * @throws ApiError `invalid_request`
   */
  ofSubmission(account: Pick<AddressSetter, "accountId">, url: string): () => string;
};

const refused = (field: string, { why }: Forbidden): never =>
  refuse("invalid_request", `${field}: ${why}; send a public https URL.`);

/** @returns the normalized URL */
const readAddress = (field: string, text: string): string => {
  const read = text.length > MAX_URL_CHARS ? tooLong("") : readUrl(text);
  if (read.kind === "forbidden") return refused(field, read);
  return read.url.href.length > MAX_URL_CHARS ? refused(field, tooLong(" when it is percent-encoded")) : read.url.href;
};
const tooLong = (when: string): Forbidden => ({ kind: "forbidden", why: `it has more than ${MAX_URL_CHARS} characters${when}` });

export const createAddresses = (allowsFor: AllowsFor): Addresses => ({
  ofEndpoint: ({ accountId, keySeq }, text, former) => {
    const url = readAddress("url", text);
    // A client may send the whole endpoint back.
    if (url === former?.url) return url;
    const isOperatorMade = keySeq === null && (former === undefined || former.keySeq === null);
    const vetted = vetUrl(url, allowsFor({ accountId, isOperatorMade }));
    return vetted.kind === "forbidden" ? refused("url", vetted) : url;
  },
  ofSubmission: ({ accountId }, text) => {
    const url = readAddress("Genrouter-Webhook", text);
    return () => {
      const vetted = vetUrl(url, allowsFor({ accountId, isOperatorMade: false }));
      return vetted.kind === "forbidden" ? refused("Genrouter-Webhook", vetted) : url;
    };
  },
});
