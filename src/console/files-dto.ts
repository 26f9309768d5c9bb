// Types of the console page of uploaded files, shared by server and browser.
import type { MediaKind } from "../domain/types.ts";

/** An uploaded file. `contentUrl` supports ranges; `thumbUrl` is present for pictures. */
export type UploadedFileDto = {
  id: string;
  kind: MediaKind;
  mime: string;
  bytes: number;
  sha256: string;
  width: number | null;
  height: number | null;
  durationMs: number | null;
  createdAtMs: number;
  expiresAtMs: number;
  contentUrl: string;
  thumbUrl: string | null;
  /** The `url` of the API: valid for everyone who has it, for about an hour. */
  link: string;
};
/** `GET /console/api/files`. `next`: the `after` of the next page; null at the end. */
export type FilesPage = {
  account: { id: string; name: string };
  files: UploadedFileDto[];
  next: string | null;
  usedBytes: number;
  quotaBytes: number;
  /** The largest file that may be uploaded. */
  largestBytes: number;
  mayUpload: boolean;
  mayDelete: boolean;
};
