// `/console/files`: uploaded files with their quota; upload, open, use as input and delete.
import { FolderOpen, Upload } from "lucide";
import type { VNode } from "preact";
import { useLocation, useSearch } from "wouter-preact";
import type { FilesPage as Page, UploadedFileDto } from "../../../src/console/files-dto.ts";
import { call } from "../../components/api.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Icon } from "../../components/icon.tsx";
import { READ_ONLY, ReadOnlyNote } from "../../components/read-only.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { showToast } from "../../components/toast.tsx";
import { type ListView, ViewSwitch } from "../../components/view-switch.tsx";
import { words } from "../../words/console-words.ts";
import { queryOf } from "../credits/amounts.ts";
import { bytesText, limitText } from "../generations/files.tsx";
import type { ViewProps } from "../pages.tsx";
import { useConfirmation } from "../users/confirm-dialog.tsx";
import { FileList } from "./file-list.tsx";
import { ChooseFiles, SendingList, usePageDrop } from "./upload-area.tsx";
import { useFiles } from "./use-files.ts";
import { type Uploads, useUploads } from "./use-uploads.ts";

const Quota = ({ usedBytes, quotaBytes }: Page): VNode => (
  <p class="quota">
    <span id="quota">{words.files.used(bytesText(usedBytes), limitText(quotaBytes))}</span>
    <meter min={0} max={quotaBytes} high={quotaBytes * 0.9} optimum={0} value={usedBytes} aria-labelledby="quota" />
  </p>
);

const UploadButton = ({ mayUpload, uploads }: Pick<Page, "mayUpload"> & { uploads: Uploads }): VNode => (
  <ChooseFiles
    says={words.files.upload}
    label={words.files.chooseToUpload}
    accept="image/*,video/*,audio/*"
    isMultiple
    isMain
    isDisabled={!mayUpload}
    about={mayUpload ? undefined : READ_ONLY}
    take={uploads.add}
  />
);

/** The view in the URL, so that Back and a shared link keep it. */
const useView = (): [ListView, (view: ListView) => void] => {
  const query = new URLSearchParams(useSearch());
  const [path, go] = useLocation();
  const set = (view: ListView) => {
    if (view === "list") query.set("view", view);
    else query.delete("view");
    go(query.size === 0 ? path : `${path}?${query}`, { replace: true });
  };
  return [query.get("view") === "list" ? "list" : "gallery", set];
};

const Head = (of: { page: Page; uploads: Uploads; view: ListView; setView: (view: ListView) => void }): VNode => {
  const { page, uploads } = of;
  return (
    <>
      <div class="page-head">
        <p>{words.files.about(limitText(page.largestBytes))}</p>
        <UploadButton mayUpload={page.mayUpload} uploads={uploads} />
      </div>
      {!page.mayUpload && <ReadOnlyNote />}
      <div class="files-bar">
        <Quota {...page} />
        <ViewSwitch view={of.view} set={of.setView} />
      </div>
      <SendingList of={uploads} />
    </>
  );
};

const Nothing = ({ page, uploads }: { page: Page; uploads: Uploads }): VNode => {
  const about = page.mayUpload ? words.files.noneAbout(limitText(page.largestBytes)) : words.files.noneToSee;
  return (
    <EmptyState icon={FolderOpen} title={words.files.none} about={about}>
      {page.mayUpload && (
        <>
          <UploadButton mayUpload uploads={uploads} />
          <a class="button" href="/docs/guides/files">
            {words.frame.documentation}
          </a>
        </>
      )}
    </EmptyState>
  );
};

/** Asks before a deletion, and confirms it. */
const useDeletion = (account: string | null, again: () => void) => {
  const [dialog, confirm] = useConfirmation();
  const remove = ({ id }: UploadedFileDto) =>
    confirm({
      title: words.files.deleteTitle,
      says: words.files.deleteAbout(id),
      does: words.actions.delete,
      run: async () => {
        await call("DELETE", `/console/api/files/${id}${queryOf({ account })}`);
        showToast(words.files.deleted);
        again();
      },
    });
  return { dialog, remove };
};

export const FilesPage = ({ account }: ViewProps): VNode => {
  const { page, files, hasMore, isBusy, fault, more, again } = useFiles(account);
  const [view, setView] = useView();
  const uploads = useUploads((_, name) => {
    showToast(words.files.stored(name));
    again();
  });
  const isOver = usePageDrop(page?.mayUpload ? uploads.add : null);
  const { dialog, remove } = useDeletion(account, again);
  return (
    <div class="files">
      {fault !== null && (
        <p class="notice is-bad" role="alert">
          {fault}{" "}
          <button type="button" class="button is-small" onClick={again}>
            {words.tryAgain}
          </button>
        </p>
      )}
      {page && <Head {...{ page, uploads, view, setView }} />}
      {page && files.length === 0 && <Nothing page={page} uploads={uploads} />}
      {page && files.length > 0 && <FileList {...{ files, view, remove }} mayUse={page.mayUpload} mayDelete={page.mayDelete} />}
      {page === undefined && fault === null && <Skeleton lines={6} label={words.files.loading} />}
      {hasMore && (
        <p class="actions">
          <button type="button" class="button" disabled={isBusy} onClick={more}>
            {words.showMore}
          </button>
        </p>
      )}
      {isOver && (
        <div class="drop-overlay" aria-hidden="true">
          <Icon of={Upload} size={32} />
          {words.files.drop}
        </div>
      )}
      {dialog}
    </div>
  );
};
