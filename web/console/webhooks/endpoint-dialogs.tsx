// Dialogs of the webhooks page: create, edit, delete and recover an endpoint, and its secret.
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { CreatedEndpointDto, EndpointDto, RecoveryDto } from "../../../src/console/webhooks-dto.ts";
import { call } from "../../components/api.ts";
import { focusFault, LabelledField } from "../../components/field.tsx";
import { Modal } from "../../components/modal.tsx";
import { words } from "../../words/console-words.ts";
import { queryOf } from "../credits/amounts.ts";
import { DialogForm } from "../dialog-form.tsx";
import { WEBHOOKS } from "./endpoint-requests.ts";
import { EventChoice } from "./event-choice.tsx";
import { type SecretAction, secretOf, WebhookSecret } from "./secret-dialogs.tsx";

export type WebhookAction =
  | { kind: "create" }
  | { kind: "edit"; endpoint: EndpointDto }
  | { kind: "delete"; endpoint: EndpointDto }
  | { kind: "recover"; endpoint: EndpointDto }
  | SecretAction;

/** `done`: with a message about what was done. */
type Props = { account: string | null; close: () => void; done: (said: string, next?: WebhookAction) => void };
type Form = { url: string; events: string[]; description: string };
type Faults = { url?: string; events?: string };

const MAX_DESCRIPTION_CHARS = 500;

const faultsOf = ({ url, events }: Form): Faults => ({
  ...(url.trim() === "" ? { url: words.webhooks.urlMissing } : {}),
  ...(events.length === 0 ? { events: words.webhooks.eventsMissing } : {}),
});

const EndpointFields = (of: { form: Form; set: (change: Partial<Form>) => void; faults: Faults }): VNode => {
  const { form, set, faults } = of;
  return (
    <>
      <LabelledField label={words.webhooks.url} isRequired hint={words.webhooks.urlHint} fault={faults.url}>
        {(aria) => (
          <input
            {...{ ...aria, type: "url", value: form.url, autocomplete: "off", spellcheck: false }}
            onInput={({ currentTarget }) => set({ url: currentTarget.value })}
          />
        )}
      </LabelledField>
      <EventChoice events={form.events} set={(events) => set({ events })} fault={faults.events} />
      <LabelledField label={words.webhooks.description}>
        {(aria) => (
          <input
            {...{ ...aria, value: form.description, maxLength: MAX_DESCRIPTION_CHARS, autocomplete: "off" }}
            onInput={({ currentTarget }) => set({ description: currentTarget.value })}
          />
        )}
      </LabelledField>
    </>
  );
};

const Edit = ({ of, account, close, done }: Props & { of: EndpointDto | null }): VNode => {
  const [form, setForm] = useState<Form>({
    ...{ url: of?.url ?? "", events: of?.events ?? ["*"], description: of?.description ?? "" },
  });
  const [faults, setFaults] = useState<Faults>({});
  const place = useRef<HTMLDivElement>(null);
  const query = queryOf({ account });
  const save = async () => {
    const body = { ...form, url: form.url.trim() };
    if (of === null) {
      const { endpoint, ...secret } = await call<CreatedEndpointDto>("POST", `${WEBHOOKS}${query}`, body);
      done(words.webhooks.created, secretOf(endpoint, secret));
    } else {
      await call<EndpointDto>("PATCH", `${WEBHOOKS}/${of.id}${query}`, body);
      done(words.webhooks.saved);
    }
  };
  const send = () => {
    const found = faultsOf(form);
    setFaults(found);
    if (Object.keys(found).length === 0) return save();
    focusFault(() => place.current);
    return undefined;
  };
  return (
    <Modal title={of === null ? words.webhooks.create : words.webhooks.editTitle} close={close}>
      <DialogForm does={of === null ? words.webhooks.createDoes : words.save} close={close} send={send}>
        <div ref={place}>
          <EndpointFields {...{ form, faults }} set={(change) => setForm({ ...form, ...change })} />
        </div>
      </DialogForm>
    </Modal>
  );
};

const Delete = ({ of, account, close, done }: Props & { of: EndpointDto }): VNode => (
  <Modal title={words.webhooks.deleteTitle} close={close}>
    <DialogForm
      does={words.webhooks.delete}
      isDanger
      close={close}
      send={() => call("DELETE", `${WEBHOOKS}/${of.id}${queryOf({ account })}`).then(() => done(words.webhooks.deleted))}
    >
      <p>{words.webhooks.deleteAbout(of.url)}</p>
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
  const [fault, setFault] = useState<string>();
  const place = useRef<HTMLDivElement>(null);
  const send = () => {
    const sinceMs = new Date(since).getTime();
    setFault(Number.isNaN(sinceMs) ? words.webhooks.sinceMissing : undefined);
    if (Number.isNaN(sinceMs)) {
      focusFault(() => place.current);
      return undefined;
    }
    return call<RecoveryDto>("POST", `${WEBHOOKS}/${of.id}/recover${queryOf({ account })}`, { sinceMs }).then(
      ({ deliveries, next }) => {
        const sent = words.webhooks.resent(deliveries);
        done(next === null ? sent : `${sent}. ${words.webhooks.moreLeft}`);
      },
    );
  };
  return (
    <Modal title={words.webhooks.recoverTitle} close={close}>
      <DialogForm does={words.webhooks.resend} close={close} send={send}>
        <p>{words.webhooks.recoverAbout(of.url)}</p>
        <div ref={place}>
          <LabelledField label={words.webhooks.since} isRequired fault={fault}>
            {(aria) => (
              <input
                {...{ ...aria, type: "datetime-local", value: since }}
                onInput={({ currentTarget }) => setSince(currentTarget.value)}
              />
            )}
          </LabelledField>
        </div>
      </DialogForm>
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
      return <WebhookSecret of={action} account={props.account} close={props.close} />;
  }
};
