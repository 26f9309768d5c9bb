// Input for media: a link, or a file that is dropped, pasted, chosen, or picked from the uploaded ones.
import { FolderOpen, X } from "lucide";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { UploadedFileDto } from "../../../src/console/files-dto.ts";
import type { MediaKind } from "../../../src/domain/types.ts";
import { me } from "../../components/api.ts";
import { Icon } from "../../components/icon.tsx";
import { words } from "../../words/console-words.ts";
import { FilePicker } from "../files/file-picker.tsx";
import { mediaOf, StoredMedia } from "../files/stored-media.tsx";
import { ChooseFiles, DropArea, SendingList } from "../files/upload-area.tsx";
import { useUploads } from "../files/use-uploads.ts";
import { type FormField, linksIn, titleOf, withLink, withoutLink } from "./form.ts";

type Props = {
  field: FormField;
  media: MediaKind;
  value: string;
  set: (value: string) => void;
  fault: string | null;
  describedBy: string | undefined;
  onSending: (isSending: boolean) => void;
};

const Typed = ({ field, value, set, fault, describedBy, paste }: Props & { paste: (event: ClipboardEvent) => void }): VNode => {
  const common = {
    id: `field-${field.name}`,
    name: field.name,
    value,
    required: field.option.required === true,
    spellcheck: false,
    placeholder: words.field.link,
    "aria-invalid": fault !== null,
    "aria-describedby": describedBy,
    onInput: (event: { currentTarget: { value: string } }) => set(event.currentTarget.value),
    onPaste: paste,
  };
  return field.kind === "links" ? (
    <textarea rows={2} {...common} />
  ) : (
    <input type="text" inputMode="url" autocomplete="off" {...common} />
  );
};

/** The stored files that the field names, each with a button that removes it. */
const Previews = ({ media, value, set }: Pick<Props, "media" | "value" | "set">): VNode | null => {
  const shown = [...new Set(linksIn(value))].flatMap((link) => {
    const found = mediaOf(link, media);
    return found ? [{ link, found }] : [];
  });
  return shown.length === 0 ? null : (
    <ul class="media-previews">
      {shown.map(({ link, found }) => (
        <li key={link}>
          <div class="tile-picture">
            <StoredMedia of={found} name={words.field.previewOf(link)} />
          </div>
          <button
            type="button"
            class="button is-icon is-small"
            aria-label={words.field.removeFile(link)}
            onClick={() => set(withoutLink(value, link))}
          >
            <Icon of={X} size={16} />
          </button>
        </li>
      ))}
    </ul>
  );
};

/** Why a stored file does not go into a field; undefined if it does. */
const misfit = ({ field, media, value }: Props, { id, kind }: UploadedFileDto): string | undefined => {
  const title = titleOf(field.name);
  if (kind !== media) return words.field.wrongKind(id, words.field.kinds[kind], title, words.field.kinds[media]);
  const most = field.option.max_items ?? 1;
  return field.kind === "links" && linksIn(value).length >= most ? words.field.tooMany(title, most, id) : undefined;
};

export const MediaInput = (props: Props): VNode => {
  const { field, media, value, set, onSending } = props;
  const [isPicking, pick] = useState(false);
  const [wrong, setWrong] = useState<string | null>(null);
  const title = titleOf(field.name);
  const uploads = useUploads((file) => {
    const why = misfit(props, file);
    setWrong(why ?? null);
    if (why === undefined) set(withLink(field, value, file.id));
  });
  const isSending = uploads.sending.some(({ fault }) => fault === null);
  useEffect(() => onSending(isSending), [isSending]);
  if (me.value?.signedIn?.accountId === null || me.value?.signedIn?.role === "viewer")
    return <Typed {...props} paste={() => undefined} />;
  const take = (files: Iterable<File>) => {
    setWrong(null);
    uploads.add(field.kind === "links" ? files : [...files].slice(0, 1));
  };
  const paste = (event: ClipboardEvent) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    take(files);
  };
  return (
    <DropArea class="media-field" label={words.field.filesFor(title)} take={take}>
      <div class="input-row">
        <Typed {...props} paste={paste} />
        <ChooseFiles label={words.field.uploadFor(title)} accept={`${media}/*`} isMultiple={field.kind === "links"} take={take} />
        <button
          type="button"
          class="button is-icon"
          aria-label={words.field.chooseFor(title)}
          title={words.field.chooseFor(title)}
          onClick={() => pick(true)}
        >
          <Icon of={FolderOpen} />
        </button>
      </div>
      <SendingList of={uploads} />
      {wrong !== null && (
        <p class="fault" role="alert">
          {wrong}
        </p>
      )}
      <Previews media={media} value={value} set={set} />
      {isPicking && (
        <FilePicker
          kind={media}
          close={() => pick(false)}
          pick={(id) => {
            pick(false);
            set(withLink(field, value, id));
          }}
        />
      )}
    </DropArea>
  );
};
