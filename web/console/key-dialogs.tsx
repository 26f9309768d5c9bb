// Dialogs of the keys page: create and show once, change, rotate, revoke.
import type { VNode } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import type { CreatedKeyDto, KeysPage, KeyView } from "../../src/console/keys-dto.ts";
import { timeText } from "../components/format.ts";
import { Modal } from "../components/modal.tsx";
import { DialogForm } from "./dialog-form.tsx";
import { relativeTime } from "./format.ts";
import { KeyFields } from "./key-fields.tsx";
import { EMPTY_FORM, type FormFaults, formOf, type KeyForm, requestOf } from "./key-form.ts";

export type KeyAction =
  | { kind: "make" }
  | { kind: "change" | "rotate" | "revoke"; key: KeyView }
  | { kind: "made"; made: CreatedKeyDto; from: KeyView | null };
/** Sends a request; throws an Error whose message is shown to the user. */
export type Send = <T>(method: "GET" | "POST" | "PATCH", path: string, body?: unknown) => Promise<T>;
type Parts = { page: KeysPage; send: Send; close: () => void; done: (next?: KeyAction) => void };

const HOUR_MS = 3_600_000;
const OVERLAPS: readonly (readonly [ms: number, says: string])[] = [
  [0, "Immediately"],
  [HOUR_MS, "After an hour"],
  [24 * HOUR_MS, "After a day"],
  [7 * 24 * HOUR_MS, "After a week"],
  [30 * 24 * HOUR_MS, "After 30 days"],
];

const nameOf = ({ name, start }: KeyView): string => (name === "" ? `${start}…` : name);
const accountQuery = ({ account }: KeysPage): string => `?account=${encodeURIComponent(account.id)}`;

const Edit = ({ page, send, close, done, of }: Parts & { of: KeyView | null }): VNode => {
  const [form, setForm] = useState<KeyForm>(of === null ? EMPTY_FORM : formOf(of));
  const [faults, setFaults] = useState<FormFaults>({});
  const place = useRef<HTMLDivElement>(null);
  const submit = () => {
    const read = requestOf(form, Date.now(), of?.expiresAtMs ?? null);
    setFaults(read.faults ?? {});
    if (read.faults !== undefined) {
      // Focuses the first invalid field after it is marked.
      setTimeout(() => place.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
      return undefined;
    }
    if (of === null)
      return send<CreatedKeyDto>("POST", `/console/api/keys${accountQuery(page)}`, read.request).then((made) =>
        done({ kind: "made", made, from: null }),
      );
    const { scope: _, ...change } = read.request;
    return send("PATCH", `/console/api/keys/${of.id}`, change).then(() => done());
  };
  return (
    <Modal title={of === null ? "New key" : `Change ${nameOf(of)}`} close={close}>
      <DialogForm does={of === null ? "Create key" : "Save"} close={close} send={submit}>
        <div ref={place}>
          <KeyFields
            {...{ form, faults, models: page.models, isNew: of === null }}
            set={(change) => setForm({ ...form, ...change })}
          />
        </div>
      </DialogForm>
    </Modal>
  );
};

const Rotate = ({ key_: key, send, close, done }: Parts & { key_: KeyView }): VNode => {
  const [overlapMs, setOverlap] = useState(24 * HOUR_MS);
  const id = useId();
  const submit = () =>
    send<CreatedKeyDto>("POST", `/console/api/keys/${key.id}/rotate`, { overlapMs }).then((made) =>
      done({ kind: "made", made, from: key }),
    );
  return (
    <Modal title={`Rotate ${nameOf(key)}`} close={close}>
      <DialogForm does="Rotate" close={close} send={submit}>
        <p>
          A new key with the same terms is created. Both keys are valid until the old key expires, and both count against the same
          limits.
        </p>
        <div class="field">
          <label for={id}>The old key expires</label>
          <select id={id} value={overlapMs} onChange={(event) => setOverlap(Number(event.currentTarget.value))}>
            {OVERLAPS.map(([ms, says]) => (
              <option key={ms} value={ms}>
                {says}
              </option>
            ))}
          </select>
        </div>
      </DialogForm>
    </Modal>
  );
};

const Revoke = ({ key_: key, send, close, done }: Parts & { key_: KeyView }): VNode => (
  <Modal title={`Revoke ${nameOf(key)}?`} close={close}>
    <DialogForm
      does="Revoke"
      isDanger
      close={close}
      send={() => send("POST", `/console/api/keys/${key.id}/revoke`).then(() => done())}
    >
      <p>
        <code>{key.start}…</code> is rejected permanently from now on. Generations that it submitted continue.
        {key.lastUsedAtMs === null
          ? " It has never been used."
          : ` It was last used ${relativeTime(key.lastUsedAtMs, Date.now())}.`}
      </p>
    </DialogForm>
  </Modal>
);

const CreatedKeyDialog = ({ made, from, close }: { made: CreatedKeyDto; from: KeyView | null; close: () => void }): VNode => {
  const [text, say] = useState("");
  const copy = () =>
    navigator.clipboard.writeText(made.key).then(
      () => say("Copied."),
      () => say("The key could not be copied. Select and copy it manually."),
    );
  return (
    <Modal title="Your new key" close={close}>
      <p>Copy the key now; it is not shown again. Anyone with this key can spend the credits of the account.</p>
      <div class="key-made">
        <input readOnly value={made.key} aria-label="The new key" onFocus={(event) => event.currentTarget.select()} />
        <button type="button" class="button is-main" onClick={() => void copy()}>
          Copy
        </button>
      </div>
      <p role="status">{text}</p>
      {from !== null && made.fromExpiresAtMs !== null && (
        <p>
          <code>{from.start}…</code> is rejected from {timeText(made.fromExpiresAtMs)} on.
        </p>
      )}
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={close}>
          I have stored it
        </button>
      </div>
    </Modal>
  );
};

export const KeyDialog = ({ action, ...parts }: Parts & { action: KeyAction }): VNode => {
  if (action.kind === "make") return <Edit {...parts} of={null} />;
  if (action.kind === "made") return <CreatedKeyDialog made={action.made} from={action.from} close={parts.close} />;
  if (action.kind === "change") return <Edit {...parts} of={action.key} />;
  return action.kind === "rotate" ? <Rotate {...parts} key_={action.key} /> : <Revoke {...parts} key_={action.key} />;
};
