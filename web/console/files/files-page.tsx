// `/console/files`: uploaded files with their quota; upload, copy, use as input and delete.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { FilesPage as Page, UploadedFileDto } from "../../../src/console/files-dto.ts";
import { call } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { queryOf } from "../credits/amounts.ts";
import { Copy } from "../generations/copy.tsx";
import { bytesText } from "../generations/files.tsx";
import type { ViewProps } from "../pages.tsx";
import { useConfirmation } from "../users/confirm-dialog.tsx";
import { StoredMedia, useAsInputPath } from "./stored-media.tsx";
import { ChooseFiles, DropArea, SendingList } from "./upload-area.tsx";
import { useFiles } from "./use-files.ts";
import { useUploads } from "./use-uploads.ts";

/** `PNG, 640 × 480, 1.2 MB` */
const factsOf = ({ mime, width, height, durationMs, bytes }: UploadedFileDto): string =>
  [
    mime,
    ...(width === null ? [] : [`${width} × ${height}`]),
    ...(durationMs === null ? [] : [`${(durationMs / 1000).toFixed(2)} s`]),
    bytesText(bytes),
  ].join(", ");

const Tile = ({ of, mayUse, remove }: { of: UploadedFileDto; mayUse: boolean; remove: (() => void) | null }): VNode => (
  <li class="tile card" data-id={of.id}>
    <div class="tile-picture">
      <StoredMedia of={of} name={`Preview of ${of.id}`} />
    </div>
    <h2>
      <a href={of.contentUrl}>
        <code>{of.id}</code>
      </a>
    </h2>
    <p>{factsOf(of)}</p>
    <p class="muted">
      Uploaded {timeText(of.createdAtMs)}, expires {timeText(of.expiresAtMs)}
    </p>
    <div class="actions">
      <Copy text={of.id} says="Copy id" of={of.id} />
      <Copy text={of.link} says="Copy link" of={of.id} />
      {mayUse && (
        <a class="button" href={useAsInputPath(of.id, of.kind)} aria-label={`Use as input: ${of.id}`}>
          Use as input
        </a>
      )}
      {remove && (
        <button type="button" class="button is-danger" aria-label={`Delete ${of.id}`} onClick={remove}>
          Delete
        </button>
      )}
    </div>
  </li>
);

const Quota = ({ usedBytes, quotaBytes }: Page): VNode => (
  <p class="quota">
    <span id="quota">
      {bytesText(usedBytes)} of {bytesText(quotaBytes)} used
    </span>
    <meter min={0} max={quotaBytes} high={quotaBytes * 0.9} value={usedBytes} aria-labelledby="quota" />
  </p>
);

export const FilesPage = ({ account }: ViewProps): VNode => {
  const { page, files, hasMore, isBusy, fault, more, again } = useFiles(account);
  const [said, say] = useState("");
  const uploads = useUploads(({ id }) => {
    say(`${id} is stored.`);
    again();
  });
  const [dialog, confirm] = useConfirmation();
  const remove = ({ id }: UploadedFileDto) =>
    confirm({
      title: "Delete this file?",
      says: `${id} is deleted at once and can no longer be used as input. Generations that have ended keep their results. A file that a running generation needs cannot be deleted.`,
      does: "Delete",
      run: async () => {
        await call("DELETE", `/console/api/files/${id}${queryOf({ account })}`);
        say(`${id} is deleted.`);
        again();
      },
    });
  return (
    <div class="files" aria-busy={isBusy && page === undefined}>
      {fault !== null && (
        <p class="notice is-bad" role="alert">
          {fault}{" "}
          <button type="button" class="button" onClick={again}>
            Try again
          </button>
        </p>
      )}
      {page && <Quota {...page} />}
      {page?.mayUpload && (
        <DropArea class="drop-area" label="Upload files" take={uploads.add}>
          <p>
            Drop files here, or choose them:{" "}
            <ChooseFiles
              says="Choose files"
              label="Choose files to upload"
              accept="image/*,video/*,audio/*"
              isMultiple
              take={uploads.add}
            />
          </p>
          <p class="muted">Pictures, clips and sound of up to {bytesText(page.largestBytes)} each.</p>
          <SendingList of={uploads} />
        </DropArea>
      )}
      <p role="status" class="said">
        {said}
      </p>
      {page && files.length === 0 && (
        <p class="empty">No files yet. Files that are uploaded here or through the API are listed here.</p>
      )}
      {files.length > 0 && (
        <ul class="gallery">
          {files.map((file) => (
            <Tile
              key={file.id}
              of={file}
              mayUse={page?.mayUpload === true}
              remove={page?.mayDelete ? () => remove(file) : null}
            />
          ))}
        </ul>
      )}
      {page === undefined && fault === null && <p>Loading the files…</p>}
      {hasMore && (
        <p class="actions">
          <button type="button" disabled={isBusy} onClick={more}>
            Show more
          </button>
        </p>
      )}
      {dialog}
    </div>
  );
};
