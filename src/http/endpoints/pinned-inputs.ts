// Serves pinned inputs to providers by signed link: GET /inputs/{attempt}/{n}, outside /v1.

import { refuse } from "../../domain/api-errors.ts";
import { seqOfGenerationId } from "../../domain/ids.ts";
import type { Copies } from "../../files/input-copies.ts";
import type { InputLinks } from "../../files/signed-input-links.ts";
import type { StoreReads } from "../../store/store.ts";
import { type Answer, signAnswer } from "../response.ts";

const ATTEMPT = /^([0-9a-z]{1,76})-[1-9][0-9]{0,3}$/;
const NUMBER = /^[1-9][0-9]?$/;

const queryOf = (request: Request): URLSearchParams => {
  const at = request.url.indexOf("?");
  return new URLSearchParams(at === -1 ? "" : request.url.slice(at + 1));
};
const noCopy = () => refuse("not_found", "No input has this address.");

/** Serves the copy to every client with a valid link, as long as the copy exists. */
export const linkedInput =
  (links: InputLinks, reads: Pick<StoreReads, "pinsOf">, copies: Copies, storeOpen: () => boolean): Answer =>
  async (request, requestId, { ref = "", n = "" }) => {
    if (!storeOpen()) refuse("restarting", "The service is starting; send the same request again.");
    const body = ATTEMPT.exec(ref)?.[1];
    const seq = body === undefined ? undefined : seqOfGenerationId(`gen_${body}`);
    if (seq === undefined || !NUMBER.test(n)) return noCopy();
    const query = queryOf(request);
    const verdict = links.check(ref, Number(n), query.get("exp") ?? "", query.get("sig") ?? "");
    if (verdict !== "good")
      return refuse("not_found", verdict === "expired" ? "This link has expired." : "This link is not valid.", { status: 403 });
    const copy = (await reads.pinsOf(seq)).find((pin) => pin.n === Number(n))?.copy;
    const response = copy ? await copies.serve(`gen_${body}`, copy, request) : undefined;
    return response ? signAnswer(response, requestId) : noCopy();
  };
