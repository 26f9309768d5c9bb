// Actions of an uploaded file: use it as input, copy its id or link, download and delete it.
import { Copy, Download, Ellipsis, Link, Trash2, WandSparkles } from "lucide";
import type { VNode } from "preact";
import type { UploadedFileDto } from "../../../src/console/files-dto.ts";
import { Icon } from "../../components/icon.tsx";
import { Menu } from "../../components/menu.tsx";
import { lockUnless, READ_ONLY } from "../../components/read-only.tsx";
import { showToast } from "../../components/toast.tsx";
import { words } from "../../words/console-words.ts";
import { useAsInputPath } from "./stored-media.tsx";

type Props = { of: UploadedFileDto; mayUse: boolean; mayDelete: boolean; remove: (file: UploadedFileDto) => void };
type MenuProps = Omit<Props, "mayUse"> & {
  /** Whether the file may be used as input; absent if the page has a button for it. */
  mayUse?: boolean;
};

const copy = (text: string, said: string): void => {
  navigator.clipboard.writeText(text).then(
    () => showToast(said),
    () => showToast(words.copy.failed),
  );
};

export const UseAsInput = ({ of, mayUse }: Pick<Props, "of" | "mayUse">): VNode =>
  mayUse ? (
    <a class="button is-small" href={useAsInputPath(of.id, of.kind)} aria-label={words.files.useAsInputOf(of.id)}>
      <Icon of={WandSparkles} size={16} />
      {words.files.useAsInput}
    </a>
  ) : (
    <button
      type="button"
      class="button is-small"
      disabled
      aria-describedby={READ_ONLY}
      aria-label={words.files.useAsInputOf(of.id)}
    >
      <Icon of={WandSparkles} size={16} />
      {words.files.useAsInput}
    </button>
  );

export const FileMenu = ({ of, mayUse, mayDelete, remove }: MenuProps): VNode => (
  <Menu label={words.actionsFor(of.id)} icon={Ellipsis}>
    {mayUse === true && (
      <a class="menu-item" href={useAsInputPath(of.id, of.kind)}>
        <Icon of={WandSparkles} />
        {words.files.useAsInput}
      </a>
    )}
    {mayUse === false && (
      <button type="button" class="menu-item" {...lockUnless(false)}>
        <Icon of={WandSparkles} />
        {words.files.useAsInput}
      </button>
    )}
    <button type="button" class="menu-item" data-closes onClick={() => copy(of.id, words.files.idCopied)}>
      <Icon of={Copy} />
      {words.files.copyId}
    </button>
    <button type="button" class="menu-item" data-closes onClick={() => copy(of.link, words.files.linkCopied)}>
      <Icon of={Link} />
      {words.files.copyLink}
    </button>
    <a class="menu-item" href={of.contentUrl} download={of.id}>
      <Icon of={Download} />
      {words.actions.download}
    </a>
    <button type="button" class="menu-item is-danger" data-closes {...lockUnless(mayDelete)} onClick={() => remove(of)}>
      <Icon of={Trash2} />
      {words.actions.delete}
    </button>
  </Menu>
);
