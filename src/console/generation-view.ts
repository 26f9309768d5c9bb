// A generation as the console tells it: its record with what a gallery needs, and with routes and accounts for those who may see all.

import type { GenerationRecord, MediaKind } from "../domain/types.ts";
import type { ListedGeneration, MakingKey } from "../store/store.ts";
import type { FileDto, GenerationDto } from "./generations-dto.ts";

export type GenerationViewOptions = {
  /** What a model makes, where the catalogue still has it. */
  kindOf: (model: string) => MediaKind | null;
  keepFilesMs: number;
  /** Whether the files of a generation are past their retention, deleted or not. */
  isOver: (record: GenerationRecord) => boolean;
};

/** Pictures that thumbnails are made of. */
const DRAWN = /^image\/(png|jpeg|webp|gif|bmp)$/;

const filesOf = ({ id, output }: GenerationRecord): FileDto[] =>
  (output?.files ?? []).map(({ n, mime, bytes, sha256 }) => {
    const url = `/console/api/generations/${id}/files/${n}`;
    return { n, mime, bytes, sha256, url, thumbUrl: DRAWN.test(mime) ? `${url}/thumb` : null };
  });

/** As usage names it, too. */
const keyNameOf = ({ name, start, isPlayground }: MakingKey): string => (isPlayground ? "Playground" : name || `${start}…`);

/** @param all whether whoever asks may see other accounts */
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
