// Converts a generation to its console view; operators and viewers also get route and account.

import type { GenerationRecord, MediaKind } from "../domain/types.ts";
import type { ListedGeneration, SubmittingKey } from "../store/store.ts";
import type { FileDto, GenerationDto } from "./generations-dto.ts";
import { hasThumbnail } from "./thumbnails.ts";

export type GenerationViewOptions = {
  /** Media kind of a model; null if the catalogue no longer contains it. */
  kindOf: (model: string) => MediaKind | null;
  keepFilesMs: number;
  /** True if the files of a generation are past their retention, deleted or not. */
  isOver: (record: GenerationRecord) => boolean;
};

const filesOf = ({ id, output }: GenerationRecord): FileDto[] =>
  (output?.files ?? []).map(({ n, mime, bytes, sha256 }) => {
    const url = `/console/api/generations/${id}/files/${n}`;
    return { n, mime, bytes, sha256, url, thumbUrl: hasThumbnail(mime) ? `${url}/thumb` : null };
  });

/** The name that the usage page shows too. */
const keyNameOf = ({ name, start, isPlayground }: SubmittingKey): string => (isPlayground ? "Playground" : name || `${start}…`);

/** @param all true if the user may see other accounts */
export const generationView = (
  { record, accountId, key, prompt }: ListedGeneration,
  { kindOf, keepFilesMs, isOver }: GenerationViewOptions,
  all: boolean,
): GenerationDto => {
  const { id, model, status, output, completedAtMs } = record;
  const areFilesGone = status === "succeeded" && (record.filesExpiredAtMs !== null || isOver(record));
  return {
    ...{ id, model, status, prompt, completedAtMs, areFilesGone },
    ...{ keyId: key.isPlayground ? "playground" : key.id, keyName: keyNameOf(key) },
    kind: output?.kind ?? kindOf(model),
    message: status === "running" ? record.message : null,
    quotedCredits: record.quotedCredits,
    reservedCredits: record.reservedCredits,
    costCredits: record.costCredits,
    attempts: record.attempts,
    error: record.error,
    createdAtMs: record.createdAtMs,
    accountId: all ? accountId : null,
    width: output?.width ?? null,
    height: output?.height ?? null,
    durationMs: output?.durationMs ?? null,
    hasAudio: output?.hasAudio ?? null,
    files: areFilesGone ? [] : filesOf(record),
    filesExpireAtMs: status === "succeeded" && completedAtMs !== null ? completedAtMs + keepFilesMs : null,
  };
};
