// Form for invitations: e-mail address, role and account.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { CreatedInvitationView, UsersView } from "../../../src/console/users-dto.ts";
import { call } from "../../components/api.ts";
import { Field, Form } from "./form.tsx";

const NEW = "new";
const NONE = "none";

type Props = { accounts: UsersView["accounts"]; made: (link: CreatedInvitationView & { says: string }) => void };

export const Invite = ({ accounts, made }: Props): VNode => {
  const [role, setRole] = useState("member");
  const [account, setAccount] = useState(NEW);
  // A member needs an account; other roles do not.
  const chosen = role === "member" && account === NONE ? NEW : account;
  return (
    <details class="card invite">
      <summary>Invite a user</summary>
      <Form
        does="Create link"
        empties
        send={async (entered) => {
          const email = entered("email");
          const request = {
            ...{ email, role, accountId: chosen === NEW || chosen === NONE ? null : chosen },
            accountName: chosen === NEW ? entered("accountName") : null,
          };
          const link = await call<CreatedInvitationView>("POST", "/console/api/operator/invitations", request);
          made({ ...link, says: `Send this link to ${email}. It allows the user to choose a password and sign in.` });
        }}
      >
        <Field says="E-mail address" name="email" type="email" autoComplete="off" />
        <div class="field">
          <label for="invite-role">Role</label>
          <select id="invite-role" value={role} onChange={(event) => setRole(event.currentTarget.value)}>
            <option value="member">Member: uses one account</option>
            <option value="viewer">Viewer: views everything, changes nothing</option>
            <option value="operator">Operator: views and changes everything</option>
          </select>
        </div>
        <div class="field">
          <label for="invite-account">Account</label>
          <select id="invite-account" value={chosen} onChange={(event) => setAccount(event.currentTarget.value)}>
            <option value={NEW}>New account</option>
            {role !== "member" && <option value={NONE}>None</option>}
            {accounts.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </div>
        {chosen === NEW && <Field says="Name of the new account" name="accountName" autoComplete="off" />}
      </Form>
    </details>
  );
};
