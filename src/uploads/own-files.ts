// Finds the stored file that an own link or a short form names, for the account that may use it.
import { refuse } from "../domain/api-errors.ts";
import type { Clock } from "../domain/clock.ts";
import { seqOfGenerationId } from "../domain/ids.ts";
import type { Caller, InputFile, Measured, MediaLink } from "../domain/types.ts";
import type { Links } from "../files/signed-links.ts";
import type { OwnLink, ReadOwnLink } from "../inputs/own-links.ts";
import { wrongKind } from "../media/wanted-kinds.ts";
import type { StoreReads } from "../store/store.ts";

/** A stored file that an input names, without its field. `measured`: an uploaded file; a result file is measured from storage. */
export type OwnFile = { file: Omit<InputFile, "n" | "field" | "kind">; measured?: Omit<Measured, "field" | "url"> };

export type OwnFiles = {
  isOwn: (link: string) => boolean;
  /**
   * The file of an own link; undefined for any other link.
   * @throws ApiError `invalid_input`, the same for an unknown file and one that the account may not use; for a file of another kind
   * than the field takes
   */
  find: (link: MediaLink, caller: Pick<Caller, "accountSeq">) => Promise<OwnFile | undefined>;
};

export type OwnFilesDeps = {
  read: ReadOwnLink;
  reads: Pick<StoreReads, "uploadedFile" | "generationBySeq">;
  links: Pick<Links, "check">;
  clock: Pick<Clock, "nowMs">;
  /** Retention of result files, s. */
  keepFilesS: number;
};

/**
 * Remaining retention that a result file needs, ms. The deletion of expired files reads which results open generations take, and
 * an admission is committed in much less time.
 */
const LEAST_LEFT_MS = 60_000;

const UNKNOWN =
  "no stored file of the account has this id or link; POST /v1/files uploads one, and another account's file needs a link that is still valid";

export const createOwnFiles = ({ read, reads, links, clock, keepFilesS }: OwnFilesDeps): OwnFiles => {
  const mayUse = ({ id, n, proof }: OwnLink, ownerSeq: number, { accountSeq }: Pick<Caller, "accountSeq">): boolean =>
    ownerSeq === accountSeq || (proof !== null && links.check(id, n, proof.exp, proof.kid, proof.sig) === "good");

  const upload = async (own: OwnLink, caller: Pick<Caller, "accountSeq">): Promise<OwnFile | undefined> => {
    const found = own.n === 1 ? await reads.uploadedFile(own.id) : undefined;
    if (!found || found.expiresAtMs <= clock.nowMs() || !mayUse(own, found.accountSeq, caller)) return undefined;
    const { seq, blobId, object, sha256, bytes, mime, kind, width, height, ms, pictureMs } = found;
    const size = width === undefined || height === undefined ? {} : { width, height };
    const length = { ...(ms === undefined ? {} : { ms }), ...(pictureMs === undefined ? {} : { pictureMs }) };
    const place = { storageId: blobId, fileNo: 1, ...(object === undefined ? {} : { object }) };
    return {
      file: { fileSeq: seq, sourceSeq: null, ...place, sha256, bytes, mime },
      measured: { kind, ...(kind === "audio" ? {} : size), ...length, bytes },
    };
  };

  const result = async (own: OwnLink, caller: Pick<Caller, "accountSeq">): Promise<OwnFile | undefined> => {
    const seq = seqOfGenerationId(own.id);
    const record = seq === undefined ? undefined : await reads.generationBySeq(seq);
    if (record?.id !== own.id || record.status !== "succeeded" || record.filesExpiredAtMs !== null) return undefined;
    const leftMs = (record.completedAtMs ?? 0) + keepFilesS * 1000 - clock.nowMs();
    const file = record.output?.files.find(({ n }) => n === own.n);
    if (!file || leftMs < Math.min(LEAST_LEFT_MS, keepFilesS * 500) || !mayUse(own, record.accountSeq, caller)) return undefined;
    const { n: fileNo, object, sha256, bytes, mime } = file;
    const place = { storageId: record.id, fileNo, ...(object === undefined ? {} : { object }) };
    return { file: { fileSeq: null, sourceSeq: record.seq, ...place, sha256, bytes, mime } };
  };

  return {
    isOwn: (link) => read(link) !== undefined,
    find: async ({ field, url, kind }, caller) => {
      const own = read(url);
      if (!own) return undefined;
      const found = await (own.of === "upload" ? upload(own, caller) : result(own, caller));
      if (!found) return refuse("invalid_input", `${field}: ${UNKNOWN}`);
      const { measured, file } = found;
      if (measured && measured.kind !== kind)
        refuse("invalid_input", `${field}: the media cannot be read: ${wrongKind(file.mime, kind)}`);
      return found;
    },
  };
};
