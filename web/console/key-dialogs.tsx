// Dialogs of the keys page: create and show once, edit, rotate, revoke.
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { CreatedKeyDto, KeysPage, KeyView } from "../../src/console/keys-dto.ts";
import { focusFault, LabelledField } from "../components/field.tsx";
import { Modal } from "../components/modal.tsx";
import { showToast } from "../components/toast.tsx";
import { words } from "../words/console-words.ts";
import { CreatedKeyDialog, type MadeKey } from "./created-key.tsx";
import { DialogForm } from "./dialog-form.tsx";
import { relativeTime } from "./format.ts";
import { KeyFields } from "./key-fields.tsx";
import { EMPTY_FORM, type FormFaults, formOf, type KeyForm, requestOf } from "./key-form.ts";

export type KeyAction =
  | { kind: "create" }
  | { kind: "edit" | "rotate" | "revoke"; key: KeyView }
  | { kind: "created"; made: MadeKey; from: KeyView | null };
/** Sends a request; throws an Error whose message is shown to the user. */
export type Send = <T>(method: "GET" | "POST" | "PATCH", path: string, body?: unknown) => Promise<T>;
type Parts = { page: KeysPage; send: Send; close: () => void; done: (next?: KeyAction) => void };

const HOUR_MS = 3_600_000;
/** In the order of their words. */
const OVERLAPS_MS = [0, HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS, 30 * 24 * HOUR_MS];

export const nameOf = ({ name, start }: Pick<KeyView, "name" | "start">): string => (name === "" ? `${start}…` : name);
const accountQuery = ({ account }: KeysPage): string => `?account=${encodeURIComponent(account.id)}`;

const Edit = ({ page, send, close, done, of }: Parts & { of: KeyView | null }): VNode => {
  const [form, setForm] = useState<KeyForm>(of === null ? EMPTY_FORM : formOf(of));
  const [faults, setFaults] = useState<FormFaults>({});
  const place = useRef<HTMLDivElement>(null);
  const submit = () => {
    const read = requestOf(form, Date.now(), of?.expiresAtMs ?? null);
    setFaults(read.faults ?? {});
    if (read.faults !== undefined) {
      focusFault(() => place.current);
      return undefined;
    }
    const { scope, ...change } = read.request;
    if (of === null)
      return send<CreatedKeyDto>("POST", `/console/api/keys${accountQuery(page)}`, read.request).then((made) =>
        done({ kind: "created", made: { ...made, scope, models: change.models }, from: null }),
      );
    return send("PATCH", `/console/api/keys/${of.id}`, change).then(() => {
      done();
      showToast(words.saved);
    });
  };
  return (
    <Modal title={of === null ? words.keys.createTitle : words.keys.editTitle(nameOf(of))} close={close}>
      <DialogForm does={of === null ? words.keys.createDoes : words.save} close={close} send={submit}>
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
  const submit = () =>
    send<CreatedKeyDto>("POST", `/console/api/keys/${key.id}/rotate`, { overlapMs }).then((made) =>
      done({ kind: "created", made: { ...made, scope: key.scope, models: key.models }, from: key }),
    );
  return (
    <Modal title={words.keys.rotateTitle(nameOf(key))} close={close}>
      <DialogForm does={words.keys.rotate} close={close} send={submit}>
        <p>{words.keys.rotateAbout}</p>
        <LabelledField label={words.keys.oldKey}>
          {(aria) => (
            <select {...aria} value={overlapMs} onChange={(event) => setOverlap(Number(event.currentTarget.value))}>
              {OVERLAPS_MS.map((ms, n) => (
                <option key={ms} value={ms}>
                  {words.keys.overlaps[n]}
                </option>
              ))}
            </select>
          )}
        </LabelledField>
      </DialogForm>
    </Modal>
  );
};

const Revoke = ({ key_: key, send, close, done }: Parts & { key_: KeyView }): VNode => {
  const revoke = () =>
    send("POST", `/console/api/keys/${key.id}/revoke`).then(() => {
      done();
      showToast(words.keys.revoked(nameOf(key)));
    });
  return (
    <Modal title={words.keys.revokeTitle(nameOf(key))} close={close}>
      <DialogForm does={words.keys.revoke} isDanger close={close} send={revoke}>
        <p>{words.keys.revokeAbout(key.start)}</p>
        <p>
          {key.lastUsedAtMs === null ? words.keys.neverUsed : words.keys.lastUsedAt(relativeTime(key.lastUsedAtMs, Date.now()))}
        </p>
      </DialogForm>
    </Modal>
  );
};

export const KeyDialog = ({ action, ...parts }: Parts & { action: KeyAction }): VNode => {
  if (action.kind === "create") return <Edit {...parts} of={null} />;
  if (action.kind === "created") return <CreatedKeyDialog made={action.made} from={action.from} close={parts.close} />;
  if (action.kind === "edit") return <Edit {...parts} of={action.key} />;
  return action.kind === "rotate" ? <Rotate {...parts} key_={action.key} /> : <Revoke {...parts} key_={action.key} />;
};
