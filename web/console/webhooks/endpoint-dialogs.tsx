// Dialogs of the webhooks page: create, change, delete and recover an endpoint, and show and rotate a secret.
import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";
import type { CreatedEndpointDto, DeliveryDto, EndpointDto, RecoveryDto, SecretDto } from "../../../src/console/webhooks-dto.ts";
import { WEBHOOK_EVENTS } from "../../../src/domain/webhooks.ts";
import { call } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { Modal } from "../../components/modal.tsx";
import { queryOf } from "../credits/amounts.ts";
import { DialogForm } from "../dialog-form.tsx";
import { TextField } from "../operator/dialog.tsx";

export const WEBHOOKS = "/console/api/webhooks";
export const DEFAULT_SECRET = "/console/api/webhook-secret";

export type WebhookAction =
  | { kind: "create" }
  | { kind: "edit"; endpoint: EndpointDto }
  | { kind: "delete"; endpoint: EndpointDto }
  | { kind: "recover"; endpoint: EndpointDto }
  /** `path`: of the secret, which is shown on request. `known`: it was just created. */
  | { kind: "secret"; title: string; path: string; rotatePath: string; known: SecretDto | null };

type Props = { account: string | null; close: () => void; done: (said: string, next?: WebhookAction) => void };

export const secretOf = ({ id }: EndpointDto, known: SecretDto | null): WebhookAction => ({
  ...{ kind: "secret", title: "Secret of the endpoint", known },
  path: `${WEBHOOKS}/${id}/secret`,
  rotatePath: `${WEBHOOKS}/${id}/rotate`,
});

const EventChoice = ({ events, set }: { events: readonly string[]; set: (events: string[]) => void }): VNode => {
  const isAll = events.includes("*");
  const flip = (name: string) => set(events.includes(name) ? events.filter((one) => one !== name) : [...events, name]);
  return (
    <fieldset class="field">
      <legend>Events</legend>
      <label class="choice">
        <input type="checkbox" checked={isAll} onChange={() => set(isAll ? [...WEBHOOK_EVENTS] : ["*"])} />
        All events, including future ones
      </label>
      {WEBHOOK_EVENTS.map((name) => (
        <label key={name} class="choice">
          <input type="checkbox" disabled={isAll} checked={isAll || events.includes(name)} onChange={() => flip(name)} />
          {name}
        </label>
      ))}
    </fieldset>
  );
};

const Edit = ({ of, account, close, done }: Props & { of: EndpointDto | null }): VNode => {
  const [url, setUrl] = useState(of?.url ?? "");
  const [description, setDescription] = useState(of?.description ?? "");
  const [events, setEvents] = useState<string[]>(of?.events ?? ["*"]);
  const query = queryOf({ account });
  const send = async () => {
    const body = { url: url.trim(), events, description };
    if (of === null) {
      const { endpoint, ...secret } = await call<CreatedEndpointDto>("POST", `${WEBHOOKS}${query}`, body);
      done("The endpoint is created.", secretOf(endpoint, secret));
    } else {
      await call<EndpointDto>("PATCH", `${WEBHOOKS}/${of.id}${query}`, body);
      done("The endpoint is changed.");
    }
  };
  return (
    <Modal title={of === null ? "New endpoint" : "Change the endpoint"} close={close}>
      <DialogForm does={of === null ? "Create endpoint" : "Save"} close={close} send={send}>
        <TextField says="URL" value={url} set={setUrl} about="A public https address. Redirects are not followed." />
        <EventChoice events={events} set={setEvents} />
        <TextField says="Description" value={description} set={setDescription} maxLength={500} />
      </DialogForm>
    </Modal>
  );
};

const Delete = ({ of, account, close, done }: Props & { of: EndpointDto }): VNode => (
  <Modal title="Delete this endpoint?" close={close}>
    <DialogForm
      does="Delete"
      isDanger
      close={close}
      send={() => call("DELETE", `${WEBHOOKS}/${of.id}${queryOf({ account })}`).then(() => done("The endpoint is deleted."))}
    >
      <p>
        <code>{of.url}</code> receives no further events, and its pending deliveries are dropped. Its secret cannot be restored.
      </p>
    </DialogForm>
  </Modal>
);

const DAY_MS = 86_400_000;
/** A time as the field `datetime-local` takes it, in the reader's time zone. */
const localText = (ms: number): string => {
  const offsetMs = new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - offsetMs).toISOString().slice(0, 16);
};

const Recover = ({ of, account, close, done }: Props & { of: EndpointDto }): VNode => {
  const [since, setSince] = useState(localText(of.failingSinceMs ?? Date.now() - DAY_MS));
  const id = useId();
  const send = () => {
    const sinceMs = new Date(since).getTime();
    if (Number.isNaN(sinceMs)) return Promise.reject(new Error("Choose a day and a time."));
    return call<RecoveryDto>("POST", `${WEBHOOKS}/${of.id}/recover${queryOf({ account })}`, { sinceMs }).then(
      ({ deliveries, next }) => {
        const sent = deliveries === 1 ? "1 delivery is sent again." : `${deliveries} deliveries are sent again.`;
        done(next === null ? sent : `${sent} More are left; send failed deliveries again to continue.`);
      },
    );
  };
  return (
    <Modal title="Send failed deliveries again" close={close}>
      <DialogForm does="Send again" close={close} send={send}>
        <p>
          All deliveries to <code>{of.url}</code> since this time that did not succeed are due again.
        </p>
        <div class="field">
          <label for={id}>Since</label>
          <input id={id} type="datetime-local" value={since} onInput={({ currentTarget }) => setSince(currentTarget.value)} />
        </div>
      </DialogForm>
    </Modal>
  );
};

const HOUR_S = 3600;
const OVERLAPS: readonly (readonly [seconds: number, says: string])[] = [
  [0, "Immediately"],
  [HOUR_S, "After an hour"],
  [24 * HOUR_S, "After a day"],
];

const Shown = ({ secret, previousUntilMs }: SecretDto): VNode => {
  const [said, say] = useState("");
  const copy = () =>
    navigator.clipboard.writeText(secret).then(
      () => say("Copied."),
      () => say("The secret could not be copied. Select and copy it manually."),
    );
  return (
    <>
      <div class="key-made">
        <textarea readOnly rows={2} value={secret} aria-label="Secret" onFocus={({ currentTarget }) => currentTarget.select()} />
        <button type="button" class="button is-main" onClick={() => void copy()}>
          Copy
        </button>
      </div>
      <p role="status">{said}</p>
      {previousUntilMs !== null && (
        <p>Deliveries carry signatures of the previous secret, too, until {timeText(previousUntilMs)}.</p>
      )}
    </>
  );
};

type SecretProps = Pick<Props, "account" | "close"> & { of: Extract<WebhookAction, { kind: "secret" }> };

const Secret = ({ of, account, close }: SecretProps): VNode => {
  const [secret, setSecret] = useState(of.known);
  const [overlap, setOverlap] = useState(24 * HOUR_S);
  const [isRotating, rotate] = useState(false);
  const id = useId();
  const query = queryOf({ account });
  const reveal = () => call<SecretDto>("POST", `${of.path}${query}`).then(setSecret);
  const change = () =>
    call<SecretDto>("POST", `${of.rotatePath}${query}`, { overlap_s: overlap }).then((next) => {
      setSecret(next);
      rotate(false);
    });
  const about = (
    <p>
      The receiver verifies the signature of every delivery with this secret, with any library for Standard Webhooks. Anyone who
      has it can forge deliveries.
    </p>
  );
  if (isRotating)
    return (
      <Modal title="Rotate the secret" close={close}>
        <DialogForm does="Rotate" leaves="Back" isDanger close={() => rotate(false)} send={change}>
          <p>A new secret is created. Until the previous one ends, deliveries carry the signatures of both.</p>
          <div class="field">
            <label for={id}>The previous secret ends</label>
            <select id={id} value={overlap} onChange={({ currentTarget }) => setOverlap(Number(currentTarget.value))}>
              {OVERLAPS.map(([seconds, says]) => (
                <option key={seconds} value={seconds}>
                  {says}
                </option>
              ))}
            </select>
          </div>
        </DialogForm>
      </Modal>
    );
  if (secret === null)
    return (
      <Modal title={of.title} close={close}>
        <DialogForm does="Reveal" close={close} send={reveal}>
          {about}
        </DialogForm>
      </Modal>
    );
  return (
    <Modal title={of.title} close={close}>
      {about}
      <Shown {...secret} />
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={() => rotate(true)}>
          Rotate…
        </button>
        <button type="button" class="button" onClick={close}>
          Close
        </button>
      </div>
    </Modal>
  );
};

export const WebhookDialog = ({ action, ...props }: Props & { action: WebhookAction }): VNode => {
  switch (action.kind) {
    case "create":
      return <Edit {...props} of={null} />;
    case "edit":
      return <Edit {...props} of={action.endpoint} />;
    case "delete":
      return <Delete {...props} of={action.endpoint} />;
    case "recover":
      return <Recover {...props} of={action.endpoint} />;
    case "secret":
      return <Secret {...props} of={action} />;
  }
};

/** Sends a test event. */
export const sendTest = ({ id }: EndpointDto, account: string | null): Promise<DeliveryDto> =>
  call<DeliveryDto>("POST", `${WEBHOOKS}/${id}/test${queryOf({ account })}`);

export const setEnabled = ({ id }: EndpointDto, enabled: boolean, account: string | null): Promise<EndpointDto> =>
  call<EndpointDto>("PATCH", `${WEBHOOKS}/${id}${queryOf({ account })}`, { enabled });
