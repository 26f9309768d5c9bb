// Dialog that shows a secret, such as a new key: a field with a copy button, which Escape does not close before it is copied.
import { Copy } from "lucide";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { words } from "../words/console-words.ts";
import { Icon } from "./icon.tsx";
import { Modal } from "./modal.tsx";

type Props = {
  title: string;
  about: string;
  /** Name of the field. */
  label: string;
  secret: string;
  /** False if the secret can be shown again. */
  isOnce?: boolean;
  /** Further buttons beside "Done". */
  buttons?: ComponentChildren;
  close: () => void;
  children?: ComponentChildren;
};

const Leave = ({ leave, stay }: { leave: () => void; stay: () => void }): VNode => {
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <div class="notice is-warn secret-leave" role="alert">
      <p>{words.secret.notCopied}</p>
      <div class="actions">
        <button ref={first} type="button" class="button" onClick={stay}>
          {words.secret.stay}
        </button>
        <button type="button" class="button is-danger" onClick={leave}>
          {words.secret.leave}
        </button>
      </div>
    </div>
  );
};

/** Selects the secret, so that it can be copied by the keyboard as well. */
const useSecret = (secret: string) => {
  const field = useRef<HTMLTextAreaElement>(null);
  const [isCopied, setCopied] = useState(false);
  const [text, say] = useState("");
  useEffect(() => {
    setCopied(false);
    say("");
    field.current?.focus();
    field.current?.select();
  }, [secret]);
  const copied = () => {
    setCopied(true);
    say(words.copy.copied);
  };
  const copy = () =>
    navigator.clipboard.writeText(secret).then(copied, () => {
      say(words.copy.failed);
      field.current?.select();
    });
  return { field, isCopied, copied, text, copy };
};

export const SecretDialog = ({ title, about, label, secret, isOnce = true, buttons, close, children }: Props): VNode => {
  const id = useId();
  const { field, isCopied, copied, text, copy } = useSecret(secret);
  const [isAsked, ask] = useState(false);
  const isSafe = isCopied || !isOnce;
  // A second Escape keeps the dialog open, too.
  const leave = () => (isSafe ? close() : ask(!isAsked));
  return (
    <Modal title={title} isGuarded={!isSafe} close={leave}>
      <p>{about}</p>
      <div class="secret">
        <label class="unseen" for={id}>
          {label}
        </label>
        <textarea
          {...{ id, ref: field, readOnly: true, rows: 1, value: secret, spellcheck: false }}
          onFocus={({ currentTarget }) => currentTarget.select()}
          onCopy={copied}
        />
        <button type="button" class="button is-main" onClick={() => void copy()}>
          <Icon of={Copy} size={16} />
          {words.actions.copy}
        </button>
      </div>
      <p class="secret-said" role="status">
        {text}
      </p>
      {children}
      {isAsked && !isSafe && <Leave leave={close} stay={() => ask(false)} />}
      <div class="dialog-buttons">
        {buttons}
        <button type="button" class="button" onClick={close}>
          {words.secret.done}
        </button>
      </div>
    </Modal>
  );
};
