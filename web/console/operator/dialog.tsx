// The dialogs of the operator's pages: they say what will happen, do it once, and tell what the service refuses.
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { errorText } from "../../components/api.ts";
import { Modal } from "../../components/modal.tsx";

type Props = {
  title: string;
  /** The word on the button that does it; null: there is nothing more to do here. */
  does: string | null;
  isDanger?: boolean;
  close: () => void;
  /** Does it; what it returns is a sentence about a field that has to be put right first. */
  run?: () => Promise<string | undefined>;
  children: ComponentChildren;
};

/** The focus stays in it, Escape closes it, and it goes back to where it was. */
export const DialogState = ({ title, does, isDanger, close, run, children }: Props): VNode => {
  const isGone = useRef(false);
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(
    () => () => {
      isGone.current = true;
    },
    [],
  );
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isBusy || !run) return;
    setBusy(true);
    setFault(null);
    const wrong = await run().catch(errorText);
    if (isGone.current) return;
    setBusy(false);
    setFault(wrong ?? null);
  };
  return (
    // What is being done is not left: how it ended would never be said.
    <Modal title={title} close={() => isBusy || close()}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        {children}
        {fault !== null && (
          <p class="notice is-bad" role="alert">
            {fault}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" class="button" onClick={close} disabled={isBusy}>
            {does === null ? "Close" : "Cancel"}
          </button>
          {does !== null && (
            <button type="submit" class={`button ${isDanger ? "is-danger" : "is-main"}`} disabled={isBusy}>
              {does}
            </button>
          )}
        </div>
      </form>
    </Modal>
  );
};

/** A labelled field with what it is about below it. */
export const Labelled = (of: {
  says: string;
  about?: string;
  children: (id: string, about: string | undefined) => VNode;
}): VNode => {
  const id = useId();
  const about = of.about === undefined ? undefined : `${id}-about`;
  return (
    <div class="field">
      <label for={id}>{of.says}</label>
      {of.children(id, about)}
      {about !== undefined && (
        <p class="muted" id={about}>
          {of.about}
        </p>
      )}
    </div>
  );
};

export const TextField = (of: {
  says: string;
  value: string;
  set: (value: string) => void;
  about?: string;
  /** Not to be read over a shoulder. */
  isSecret?: boolean;
  inputMode?: "decimal" | "numeric" | "search";
  maxLength?: number;
}): VNode => (
  <Labelled says={of.says} {...(of.about === undefined ? {} : { about: of.about })}>
    {(id, about) => {
      const props = {
        ...{ id, value: of.value, inputMode: of.inputMode, maxLength: of.maxLength, "aria-describedby": about },
        ...{ autocomplete: "off", spellcheck: false },
        onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) => of.set(currentTarget.value),
      };
      return of.isSecret ? <input type="password" {...props} /> : <input type="text" {...props} />;
    }}
  </Labelled>
);
