// Dialog that picks one of the uploaded files of a kind.
import type { VNode } from "preact";
import type { MediaKind } from "../../../src/domain/types.ts";
import { timeText } from "../../components/format.ts";
import { Modal } from "../../components/modal.tsx";
import { bytesText } from "../generations/files.tsx";
import { kindName, StoredMedia } from "./stored-media.tsx";
import { useFiles } from "./use-files.ts";

export const FilePicker = (of: { kind: MediaKind; pick: (id: string) => void; close: () => void }): VNode => {
  const { page, files, hasMore, isBusy, fault, more } = useFiles(null);
  const fitting = files.filter(({ kind }) => kind === of.kind);
  return (
    <Modal title={`Choose an uploaded ${kindName(of.kind)}`} close={of.close}>
      {fault !== null && (
        <p class="notice is-bad" role="alert">
          {fault}
        </p>
      )}
      {page === undefined && fault === null && <p aria-busy="true">Loading the files…</p>}
      {page !== undefined && fitting.length === 0 && (
        <p>{hasMore ? "None among the newest files." : `There is no uploaded ${kindName(of.kind)}.`}</p>
      )}
      <ul class="picks">
        {fitting.map((file) => (
          <li key={file.id}>
            <div class="tile-picture">
              <StoredMedia of={file} name={`Preview of ${file.id}`} />
            </div>
            <span>
              <code>{file.id}</code>
              <span class="muted">
                {file.width === null ? "" : `${file.width} × ${file.height}, `}
                {file.durationMs === null ? "" : `${(file.durationMs / 1000).toFixed(1)} s, `}
                {bytesText(file.bytes)}, {timeText(file.createdAtMs)}
              </span>
            </span>
            <button type="button" aria-label={`Use ${file.id}`} onClick={() => of.pick(file.id)}>
              Use
            </button>
          </li>
        ))}
      </ul>
      <div class="dialog-buttons">
        {hasMore && (
          <button type="button" class="button" disabled={isBusy} onClick={more}>
            Show more
          </button>
        )}
        <button type="button" class="button" onClick={of.close}>
          Close
        </button>
      </div>
    </Modal>
  );
};
