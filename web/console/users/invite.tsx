// Dialog that creates an invitation: e-mail address, role and account.
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Role } from "../../../src/console/request-context.ts";
import type { CreatedInvitationView, UsersView } from "../../../src/console/users-dto.ts";
import { call } from "../../components/api.ts";
import { focusFault, LabelledField } from "../../components/field.tsx";
import { Modal } from "../../components/modal.tsx";
import { words } from "../../words/console-words.ts";
import { DialogForm } from "../dialog-form.tsx";
import { RoleChoice } from "./role-choice.tsx";

const NEW = "new";
const NONE = "none";

type Entered = { email: string; role: Role; account: string; accountName: string };
type Faults = { email?: string; accountName?: string };
/** `made`: with the address that the link is for. */
type Props = {
  accounts: UsersView["accounts"];
  close: () => void;
  made: (link: CreatedInvitationView, email: string) => void;
};

const faultsOf = ({ email, account, accountName }: Entered): Faults => ({
  ...(email.trim() === "" ? { email: words.users.emailMissing } : {}),
  ...(account === NEW && accountName.trim() === "" ? { accountName: words.users.accountNameMissing } : {}),
});

type FieldsProps = { entered: Entered; set: (change: Partial<Entered>) => void; faults: Faults };

const AccountFields = ({ entered, set, faults, accounts }: FieldsProps & Pick<Props, "accounts">): VNode => (
  <>
    <LabelledField label={words.users.account}>
      {(aria) => (
        <select {...aria} value={entered.account} onChange={({ currentTarget }) => set({ account: currentTarget.value })}>
          {entered.role !== "member" && <option value={NONE}>{words.users.noneForRole}</option>}
          <option value={NEW}>{words.users.newAccount}</option>
          {accounts.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
    </LabelledField>
    {entered.account === NEW && (
      <LabelledField label={words.users.accountName} isRequired hint={words.users.accountNameHint} fault={faults.accountName}>
        {(aria) => (
          <input
            {...{ ...aria, value: entered.accountName, maxLength: 100, autocomplete: "off" }}
            onInput={({ currentTarget }) => set({ accountName: currentTarget.value })}
          />
        )}
      </LabelledField>
    )}
  </>
);

const EmailField = ({ entered, set, faults }: FieldsProps): VNode => (
  <LabelledField label={words.users.email} isRequired fault={faults.email}>
    {(aria) => (
      <input
        {...{ ...aria, type: "email", value: entered.email, autocomplete: "off", spellcheck: false }}
        onInput={({ currentTarget }) => set({ email: currentTarget.value })}
      />
    )}
  </LabelledField>
);

export const InviteDialog = ({ accounts, close, made }: Props): VNode => {
  const [entered, setEntered] = useState<Entered>({ email: "", role: "member", account: NEW, accountName: "" });
  const [faults, setFaults] = useState<Faults>({});
  const place = useRef<HTMLDivElement>(null);
  const set = (change: Partial<Entered>) => setEntered({ ...entered, ...change });
  // A member needs an account. Other roles rarely have one.
  const setRole = (role: Role) =>
    set({ role, account: role !== "member" ? NONE : entered.account === NONE ? NEW : entered.account });
  const create = async () => {
    const { role, account, accountName } = entered;
    const email = entered.email.trim();
    const link = await call<CreatedInvitationView>("POST", "/console/api/operator/invitations", {
      ...{ email, role, accountId: account === NEW || account === NONE ? null : account },
      accountName: account === NEW ? accountName.trim() : null,
    });
    made(link, email);
  };
  const send = () => {
    const found = faultsOf(entered);
    setFaults(found);
    if (Object.keys(found).length === 0) return create();
    focusFault(() => place.current);
    return undefined;
  };
  return (
    <Modal title={words.users.inviteTitle} close={close}>
      <DialogForm does={words.users.createLink} close={close} send={send}>
        <div ref={place}>
          <EmailField {...{ entered, set, faults }} />
          <RoleChoice role={entered.role} set={setRole} hasAccount />
          <AccountFields {...{ entered, set, faults, accounts }} />
        </div>
      </DialogForm>
    </Modal>
  );
};
