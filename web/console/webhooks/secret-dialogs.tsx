// Dialogs of a webhook secret: shown after its creation or on request, and rotated.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { EndpointDto, SecretDto } from "../../../src/console/webhooks-dto.ts";
import { call } from "../../components/api.ts";
import { LabelledField } from "../../components/field.tsx";
import { timeText } from "../../components/format.ts";
import { Modal } from "../../components/modal.tsx";
import { SecretDialog } from "../../components/secret-dialog.tsx";
import { words } from "../../words/console-words.ts";
import { queryOf } from "../credits/amounts.ts";
import { DialogForm } from "../dialog-form.tsx";
import { WEBHOOKS } from "./endpoint-requests.ts";

/** `path`: of the secret, which is shown on request. `known`: it was just created. */
export type SecretAction = { kind: "secret"; title: string; path: string; rotatePath: string; known: SecretDto | null };

const DEFAULT_SECRET = "/console/api/webhook-secret";
const HOUR_S = 3600;
/** In the order of their words. */
const OVERLAPS_S = [0, HOUR_S, 24 * HOUR_S];

export const secretOf = ({ id }: EndpointDto, known: SecretDto | null): SecretAction => ({
  ...{ kind: "secret", title: words.webhooks.secret, known },
  path: `${WEBHOOKS}/${id}/secret`,
  rotatePath: `${WEBHOOKS}/${id}/rotate`,
});
export const defaultSecret = (): SecretAction => ({
  ...{ kind: "secret", title: words.webhooks.defaultSecret, known: null },
  path: DEFAULT_SECRET,
  rotatePath: `${DEFAULT_SECRET}/rotate`,
});

type RotateProps = { path: string; back: () => void; close: () => void; done: (secret: SecretDto) => void };

const Rotate = ({ path, back, close, done }: RotateProps): VNode => {
  const [overlap, setOverlap] = useState(24 * HOUR_S);
  return (
    <Modal title={words.webhooks.rotateTitle} close={close}>
      <DialogForm
        does={words.webhooks.rotateDoes}
        leaves={words.back}
        isDanger
        close={back}
        send={() => call<SecretDto>("POST", path, { overlap_s: overlap }).then(done)}
      >
        <p>{words.webhooks.rotateAbout}</p>
        <LabelledField label={words.webhooks.oldSecret}>
          {(aria) => (
            <select {...aria} value={overlap} onChange={({ currentTarget }) => setOverlap(Number(currentTarget.value))}>
              {OVERLAPS_S.map((seconds, n) => (
                <option key={seconds} value={seconds}>
                  {words.webhooks.overlaps[n]}
                </option>
              ))}
            </select>
          )}
        </LabelledField>
      </DialogForm>
    </Modal>
  );
};

export const WebhookSecret = ({ of, account, close }: { of: SecretAction; account: string | null; close: () => void }): VNode => {
  const [shown, show] = useState<{ secret: SecretDto; isNew: boolean } | null>(of.known && { secret: of.known, isNew: true });
  const [isRotating, rotate] = useState(false);
  const query = queryOf({ account });
  if (isRotating)
    return (
      <Rotate
        path={`${of.rotatePath}${query}`}
        back={() => rotate(false)}
        close={close}
        done={(secret) => {
          show({ secret, isNew: true });
          rotate(false);
        }}
      />
    );
  if (shown === null)
    return (
      <Modal title={of.title} close={close}>
        <DialogForm
          does={words.webhooks.reveal}
          close={close}
          send={() => call<SecretDto>("POST", `${of.path}${query}`).then((secret) => show({ secret, isNew: false }))}
        >
          <p>{words.webhooks.secretAbout}</p>
        </DialogForm>
      </Modal>
    );
  const { secret, isNew } = shown;
  const about = isNew ? `${words.webhooks.secretAbout} ${words.webhooks.secretLater}` : words.webhooks.secretAbout;
  return (
    <SecretDialog
      {...{ title: of.title, about, label: words.webhooks.secretLabel, secret: secret.secret, isOnce: isNew, close }}
      buttons={
        <button type="button" class="button" onClick={() => rotate(true)}>
          {words.webhooks.rotate}
        </button>
      }
    >
      {secret.previousUntilMs !== null && <p>{words.webhooks.oldUntil(timeText(secret.previousUntilMs))}</p>}
    </SecretDialog>
  );
};
