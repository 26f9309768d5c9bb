// Uploaded files as a gallery or as a list; a click on a preview shows the whole file.
import { AudioLines } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { UploadedFileDto } from "../../../src/console/files-dto.ts";
import { timeText } from "../../components/format.ts";
import { Icon } from "../../components/icon.tsx";
import { Lightbox } from "../../components/lightbox.tsx";
import { RowTable } from "../../components/row-table.tsx";
import { Time } from "../../components/time.tsx";
import type { ListView } from "../../components/view-switch.tsx";
import { words } from "../../words/console-words.ts";
import { relativeTime } from "../format.ts";
import { bytesText } from "../generations/files.tsx";
import { FileMenu, UseAsInput } from "./file-actions.tsx";
import { factsOf, formatOf, sizeOf } from "./file-facts.ts";

type Shared = { mayUse: boolean; mayDelete: boolean; remove: (file: UploadedFileDto) => void };
type Item = Shared & { of: UploadedFileDto; open: () => void };

/** A picture, the first frame of a clip, or a sign for a sound. Nothing plays before it is opened. */
const Thumbnail = ({ of }: { of: UploadedFileDto }): VNode => {
  const [isLost, lose] = useState(false);
  const onError = () => lose(true);
  if (isLost) return <span class="fault">{words.files.lost}</span>;
  if (of.kind === "video") return <video preload="metadata" muted playsInline src={of.contentUrl} onError={onError} />;
  if (of.kind === "audio") return <Icon of={AudioLines} size={32} />;
  if (of.thumbUrl === null) return <span>{words.files.noPreview}</span>;
  return <img src={of.thumbUrl} loading="lazy" alt="" onError={onError} />;
};

const Opened = ({ of, open }: Pick<Item, "of" | "open">): VNode => (
  <button type="button" class="tile-picture" aria-label={words.files.open(of.id)} onClick={open}>
    <Thumbnail of={of} />
  </button>
);

const Expiry = ({ of }: { of: UploadedFileDto }): VNode => (
  <time dateTime={new Date(of.expiresAtMs).toISOString()} title={timeText(of.expiresAtMs)}>
    {relativeTime(of.expiresAtMs, Date.now())}
  </time>
);

const Tile = ({ of, open, mayUse, ...shared }: Item): VNode => (
  <li class="tile file-tile" data-id={of.id}>
    <Opened of={of} open={open} />
    <h2>
      {words.files.kinds[of.kind]} · {formatOf(of)}
    </h2>
    <p class="tile-facts muted">{factsOf(of)}</p>
    <p class="tile-facts muted">
      <span title={timeText(of.expiresAtMs)}>{words.files.expires(relativeTime(of.expiresAtMs, Date.now()))}</span>
    </p>
    <div class="tile-actions">
      <UseAsInput of={of} mayUse={mayUse} />
      <FileMenu of={of} {...shared} />
    </div>
  </li>
);

const Row = ({ of, open, ...shared }: Item): VNode => {
  const { columns } = words.files;
  return (
    <tr data-id={of.id}>
      <th scope="row">
        <div class="file-name">
          <Opened of={of} open={open} />
          <code>{of.id}</code>
        </div>
      </th>
      <td data-head={columns.type}>
        {words.files.kinds[of.kind]} · {formatOf(of)}
      </td>
      <td data-head={columns.size}>
        <div class="stacked">
          <span>{bytesText(of.bytes)}</span>
          <span class="muted">{sizeOf(of)}</span>
        </div>
      </td>
      <td data-head={columns.uploaded}>
        <Time atMs={of.createdAtMs} />
      </td>
      <td data-head={columns.expires}>
        <Expiry of={of} />
      </td>
      <td class="row-menu">
        <FileMenu of={of} {...shared} />
      </td>
    </tr>
  );
};

const Table = ({ items }: { items: readonly Item[] }): VNode => (
  <RowTable columns={words.files.columns}>
    {items.map((item) => (
      <Row key={item.of.id} {...item} />
    ))}
  </RowTable>
);

export const FileList = ({ files, view, ...shared }: Shared & { files: readonly UploadedFileDto[]; view: ListView }): VNode => {
  const [at, open] = useState<number | null>(null);
  const items = files.map((of, n): Item => ({ ...shared, of, open: () => open(n) }));
  return (
    <>
      {view === "list" ? (
        <Table items={items} />
      ) : (
        <ul class="gallery">
          {items.map((item) => (
            <Tile key={item.of.id} {...item} />
          ))}
        </ul>
      )}
      {at !== null && (
        <Lightbox
          files={files.map((file) => ({
            ...{ url: file.contentUrl, kind: file.kind, label: file.id },
            ...(shared.mayUse ? { actions: <UseAsInput of={file} mayUse /> } : {}),
          }))}
          at={at}
          go={open}
          close={() => open(null)}
        />
      )}
    </>
  );
};
