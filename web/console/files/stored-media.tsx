// Preview of a stored file: a thumbnail, or a player for a clip and sound.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { MediaKind } from "../../../src/domain/types.ts";
import { words } from "../../words/console-words.ts";

/** `thumbUrl`: null for a picture without thumbnail. */
export type Media = { kind: MediaKind; contentUrl: string; thumbUrl: string | null };

/** @param name its text for screen readers */
export const StoredMedia = ({ of, name }: { of: Media; name: string }): VNode => {
  const [isLost, lose] = useState(false);
  const onError = () => lose(true);
  if (isLost) return <span class="fault">{words.files.lost}</span>;
  if (of.kind === "video")
    // biome-ignore lint/a11y/useMediaCaption: an uploaded file has no captions.
    return <video controls playsInline preload="metadata" src={of.contentUrl} aria-label={name} onError={onError} />;
  // biome-ignore lint/a11y/useMediaCaption: an uploaded file has no captions.
  if (of.kind === "audio") return <audio controls preload="metadata" src={of.contentUrl} aria-label={name} onError={onError} />;
  if (of.thumbUrl === null) return <span class="muted">{words.files.noPreview}</span>;
  return <img src={of.thumbUrl} loading="lazy" alt={name} onError={onError} />;
};

const FILE = /^file_[0-9a-z]+$/;
const RESULT = /^(gen_[0-9a-z]+)\/([1-9][0-9]?)$/;

/** The stored file that a value of a media field names by its short form; undefined for a link. */
export const mediaOf = (value: string, kind: MediaKind): Media | undefined => {
  const [, id, n] = RESULT.exec(value) ?? [];
  const base = FILE.test(value)
    ? [`/console/api/files/${value}/content`, `/console/api/files/${value}/thumb`]
    : id === undefined
      ? undefined
      : [`/console/api/generations/${id}/files/${n}`, `/console/api/generations/${id}/files/${n}/thumb`];
  const [contentUrl = "", thumbUrl = ""] = base ?? [];
  return base && { kind, contentUrl, thumbUrl };
};

/** Address of the playground with a stored file as input. @param value `file_…` or `gen_…/1` */
export const useAsInputPath = (value: string, kind: MediaKind): string =>
  `/console/playground?use=${encodeURIComponent(value)}&kind=${kind}`;

/** Kind of a file by its media type; undefined if no field takes it. */
export const kindOfMime = (mime: string): MediaKind | undefined =>
  (["image", "video", "audio"] as const).find((kind) => mime.startsWith(`${kind}/`));
