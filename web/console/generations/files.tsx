// Result files of a generation: preview, playback and download.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { FileDto, GenerationDto } from "../../../src/console/generations-dto.ts";
import { words } from "../../words/console-words.ts";
import { locale } from "../../words/words.ts";

/** `10.1 kB`, `3.4 MB`, `10.7 GB` */
export const bytesText = (bytes: number): string => {
  const tenths = (value: number): string =>
    value.toLocaleString(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1, useGrouping: false });
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${tenths(bytes / 1000)} kB`;
  return bytes < 1_000_000_000 ? `${tenths(bytes / 1_000_000)} MB` : `${tenths(bytes / 1_000_000_000)} GB`;
};

/** A limit that an operator set: `512 MiB` if it is a round number in binary units, `10.7 GB` otherwise. */
export const limitText = (bytes: number): string => {
  const [unit, size] = bytes >= 2 ** 30 ? (["GiB", 2 ** 30] as const) : (["MiB", 2 ** 20] as const);
  return bytes > 0 && bytes % size === 0 ? `${(bytes / size).toLocaleString(locale)} ${unit}` : bytesText(bytes);
};

/** Name of a generation in lists and for screen readers. A prompt of blanks has no text to click. */
export const titleOf = ({ prompt, model }: Pick<GenerationDto, "prompt" | "model">): string => prompt?.trim() || model;

const nameOf = (of: GenerationDto, file: FileDto): string =>
  of.files.length > 1 ? words.preview.name(titleOf(of), file.n) : titleOf(of);

/** Requests the reason why a file could not be shown; null if the file exists and only its format is not supported here. */
const promptReason = async ({ url }: FileDto): Promise<string | null> => {
  const answer = await fetch(url, { headers: { range: "bytes=0-0" } }).catch(() => null);
  if (answer === null) return words.preview.unreachable;
  if (answer.ok) return null;
  const text = (await answer.json().catch(() => null)) as { error?: { message: string } } | null;
  return text?.error?.message ?? words.preview.status(answer.status);
};

/** `small`: as a tile of the gallery. */
export const FilePreview = ({ of, file, small = false }: { of: GenerationDto; file: FileDto; small?: boolean }): VNode => {
  const [fault, setFault] = useState<string | null>(null);
  const onError = () => void promptReason(file).then(setFault);
  const size = { width: of.width ?? undefined, height: of.height ?? undefined };
  const name = nameOf(of, file);
  if (fault !== null) return <p class="fault">{fault}</p>;
  if (file.mime.startsWith("video/"))
    return <video controls playsInline preload="metadata" src={file.url} {...size} aria-label={name} onError={onError} />;
  if (file.mime.startsWith("audio/"))
    // biome-ignore lint/a11y/useMediaCaption: a generated file has no captions.
    return <audio controls preload="metadata" src={file.url} aria-label={name} onError={onError} />;
  if (file.thumbUrl !== null) {
    const picture = <img src={file.thumbUrl} {...size} loading="lazy" alt={name} onError={onError} />;
    return small ? picture : <a href={file.url}>{picture}</a>;
  }
  return <a href={file.url}>{words.generation.file(file.n)}</a>;
};
