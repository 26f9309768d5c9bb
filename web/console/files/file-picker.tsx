// Dialog that picks one of the uploaded files of a kind.
import type { VNode } from "preact";
import type { UploadedFileDto } from "../../../src/console/files-dto.ts";
import type { MediaKind } from "../../../src/domain/types.ts";
import { Modal } from "../../components/modal.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { Time } from "../../components/time.tsx";
import { words } from "../../words/console-words.ts";
import { factsOf } from "./file-facts.ts";
import { StoredMedia } from "./stored-media.tsx";
import { useFiles } from "./use-files.ts";

const Pick = ({ of, pick }: { of: UploadedFileDto; pick: (id: string) => void }): VNode => (
  <li>
    <div class="tile-picture">
      <StoredMedia of={of} name={words.files.previewOf(of.id)} />
    </div>
    <span>
      <code>{of.id}</code>
      <span class="muted">
        {factsOf(of)} · <Time atMs={of.createdAtMs} />
      </span>
    </span>
    <button type="button" class="button" aria-label={words.files.useOf(of.id)} onClick={() => pick(of.id)}>
      {words.files.use}
    </button>
  </li>
);

export const FilePicker = (of: { kind: MediaKind; pick: (id: string) => void; close: () => void }): VNode => {
  const { page, files, hasMore, isBusy, fault, more } = useFiles(null);
  const fitting = files.filter(({ kind }) => kind === of.kind);
  const kind = words.files.aKind[of.kind];
  return (
    <Modal title={words.files.pickTitle(kind)} close={of.close}>
      {fault !== null && (
        <p class="notice is-bad" role="alert">
          {fault}
        </p>
      )}
      {page === undefined && fault === null && <Skeleton label={words.files.loading} />}
      {page !== undefined && fitting.length === 0 && <p>{hasMore ? words.files.pickNoneYet : words.files.pickNone(kind)}</p>}
      <ul class="picks">
        {fitting.map((file) => (
          <Pick key={file.id} of={file} pick={of.pick} />
        ))}
      </ul>
      <div class="dialog-buttons">
        {hasMore && (
          <button type="button" class="button" disabled={isBusy} onClick={more}>
            {words.showMore}
          </button>
        )}
        <button type="button" class="button" onClick={of.close}>
          {words.actions.close}
        </button>
      </div>
    </Modal>
  );
};
