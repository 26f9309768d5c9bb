// Serves pinned inputs and stored files to providers by signed link: GET /inputs/{attempt}/{n}, outside /v1.

import { refuse } from "../../domain/api-errors.ts";
import { seqOfGenerationId } from "../../domain/ids.ts";
import type { InputFile } from "../../domain/types.ts";
import type { Copies } from "../../files/input-copies.ts";
import type { InputLinks } from "../../files/signed-input-links.ts";
import type { StoreReads } from "../../store/store.ts";
import { queryOf } from "../query.ts";
import { type Answer, signAnswer } from "../response.ts";

const ATTEMPT = /^([0-9a-z]{1,76})-[1-9][0-9]{0,3}$/;
/** The number of the input, and the extension of a stored file. */
const NUMBER = /^([1-9][0-9]?)(?:\.[0-9a-z]{1,5})?$/;

const noCopy = () => refuse("not_found", "No input has this address.");

export type LinkedInputDeps = {
  links: InputLinks;
  reads: Pick<StoreReads, "pinsOf" | "inputFilesOf">;
  copies: Copies;
  /** Serves a stored file that an input names; undefined if it is missing. */
  serveFile: (file: InputFile, name: string, request: Request) => Promise<Response | undefined>;
  storeOpen: () => boolean;
};

/** Serves the copy or the stored file to every client with a valid link, as long as it exists. */
export const linkedInput =
  ({ links, reads, copies, serveFile, storeOpen }: LinkedInputDeps): Answer =>
  async (request, requestId, { ref = "", n = "" }) => {
    if (!storeOpen()) refuse("restarting", "The service is starting; send the same request again.");
    const body = ATTEMPT.exec(ref)?.[1];
    const seq = body === undefined ? undefined : seqOfGenerationId(`gen_${body}`);
    const number = Number(NUMBER.exec(n)?.[1]);
    if (seq === undefined || Number.isNaN(number)) return noCopy();
    const query = queryOf(request);
    const verdict = links.check(ref, number, query.get("exp") ?? "", query.get("sig") ?? "");
    if (verdict !== "good")
      return refuse("not_found", verdict === "expired" ? "This link has expired." : "This link is not valid.", { status: 403 });
    const copy = (await reads.pinsOf(seq)).find((pin) => pin.n === number)?.copy;
    const file = copy ? undefined : (await reads.inputFilesOf(seq)).find((input) => input.n === number);
    const response = copy
      ? await copies.serve(`gen_${body}`, copy, request)
      : file && (await serveFile(file, `gen_${body}-input-${number}`, request));
    return response ? signAnswer(response, requestId) : noCopy();
  };
