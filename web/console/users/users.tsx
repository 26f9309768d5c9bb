// `/console/operator/users`: users, open invitations and one-time links.

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Role } from "../../../src/console/request-context.ts";
import type { CreatedInvitationView, UsersView, UserView } from "../../../src/console/users-dto.ts";
import { call, errorText, me } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { type Query, useQuery } from "../../components/use-query.ts";
import { type Confirmation, useConfirmation } from "./confirm-dialog.tsx";
import { Fault } from "./form.tsx";
import { Invite } from "./invite.tsx";

const PATH = "/console/api/operator/users";
type Link = CreatedInvitationView & { says: string };

/** Shown once, because only the hash of the token is stored. */
const Shown = ({ link }: { link: Link }): VNode => {
  const field = useRef<HTMLInputElement>(null);
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
    setCopied(false);
  }, [link.id]);
  return (
    <div class="notice is-good">
      <p>
        {link.says} The link is shown once, is valid for one use, and expires {timeText(link.expiresAtMs)}.
      </p>
      <div class="field">
        <label for="made-link">Link</label>
        <input id="made-link" ref={field} readOnly value={link.url} />
      </div>
      <button
        type="button"
        class="button"
        onClick={() => {
          navigator.clipboard.writeText(link.url).then(
            () => setCopied(true),
            () => field.current?.select(),
          );
        }}
      >
        {isCopied ? "Copied" : "Copy"}
      </button>
    </div>
  );
};

const ROLES: Readonly<Record<Role, readonly [name: string, may: string]>> = {
  member: ["a member", "The user can view and use only the own account."],
  viewer: ["a viewer", "The user can view everything that operators can view, including all accounts, and change nothing."],
  operator: ["an operator", "The user can view and change everything, including credits, keys, routes and users."],
};

type Change = { role?: Role; disabled?: boolean };
/** The text of the confirmation; null if the change needs none. */
const confirmationOf = ({ email, role: before }: UserView, { role, disabled }: Change): Omit<Confirmation, "run"> | null => {
  if (role !== undefined)
    return {
      title: `Make ${email} ${ROLES[role][0]}?`,
      says: `Until now the user was ${ROLES[before][0]}. ${ROLES[role][1]}`,
      does: "Change the role",
    };
  if (!disabled) return null;
  const says = "The user is signed out everywhere and cannot sign in until enabled again. Keys of the account remain valid.";
  return { title: `Disable ${email}?`, says, does: "Disable" };
};

type RowProps = {
  user: UserView;
  accounts: UsersView["accounts"];
  mayChange: boolean;
  change: (user: UserView, what: Change) => void;
  reset: (user: UserView) => void;
};

const Row = ({ user, accounts, mayChange, change, reset }: RowProps): VNode => {
  const isOut = user.disabledAtMs !== null;
  const account = accounts.find(({ id }) => id === user.accountId);
  return (
    <tr>
      <td data-head="User">
        <span>
          {user.name}
          <br />
          <span class="muted">{user.email}</span>
        </span>
      </td>
      <td data-head="Role">
        {mayChange ? (
          <select
            aria-label={`Role of ${user.email}`}
            value={user.role}
            onChange={({ currentTarget }) => {
              const role = currentTarget.value as Role;
              // The field shows the current role until the change is confirmed.
              currentTarget.value = user.role;
              change(user, { role });
            }}
          >
            <option value="member" disabled={user.accountId === null}>
              Member
            </option>
            <option value="viewer">Viewer</option>
            <option value="operator">Operator</option>
          </select>
        ) : (
          user.role
        )}
      </td>
      <td data-head="Account">{account ? account.name : "–"}</td>
      <td data-head="Last seen">{user.seenAtMs === null ? "never" : timeText(user.seenAtMs)}</td>
      <td data-head="State">
        <span class={`status ${isOut ? "is-bad" : "is-good"}`}>{isOut ? "disabled" : "active"}</span>
      </td>
      {mayChange && (
        <td>
          <div class="row-actions">
            {!isOut && (
              <button type="button" class="button" aria-label={`Reset link for ${user.email}`} onClick={() => reset(user)}>
                Reset link
              </button>
            )}
            <button
              type="button"
              class={`button${isOut ? "" : " is-danger"}`}
              aria-label={`${isOut ? "Enable" : "Disable"} ${user.email}`}
              onClick={() => change(user, { disabled: !isOut })}
            >
              {isOut ? "Enable" : "Disable"}
            </button>
          </div>
        </td>
      )}
    </tr>
  );
};

const Invitations = ({
  requested,
  think,
}: {
  requested: Query<UsersView>;
  think: (confirmation: Confirmation) => void;
}): VNode | null => {
  const { invitations = [], mayChange = false } = requested.value ?? {};
  if (invitations.length === 0) return null;
  return (
    <section aria-labelledby="open-links">
      <h2 id="open-links">Open links</h2>
      <ul class="open-links">
        {invitations.map((one) => (
          <li key={one.id}>
            <span>
              {one.kind === "reset" ? "New password for" : one.kind === "setup" ? "Set-up link" : "Invitation of"}{" "}
              {one.email ?? ""} ({one.role}), by {one.madeBy}, until {timeText(one.expiresAtMs)}
            </span>
            {mayChange && (
              <button
                type="button"
                class="button"
                aria-label={`Withdraw the link for ${one.email ?? "the set-up"}`}
                onClick={() =>
                  think({
                    title: `Withdraw the link for ${one.email ?? "the set-up"}?`,
                    says: "The link stops working. You can create another one.",
                    does: "Withdraw",
                    run: async () =>
                      requested.put(await call<UsersView>("DELETE", `/console/api/operator/invitations/${one.id}`)),
                  })
                }
              >
                Withdraw
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
};

export const UsersPage = (): VNode => {
  const requested = useQuery<UsersView>(PATH);
  const [link, setLink] = useState<Link | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [dialog, think] = useConfirmation();
  const sent = async (work: () => Promise<unknown>) => {
    setFault(null);
    await work().catch((thrown: unknown) => {
      setFault(errorText(thrown));
      requested.again();
    });
  };
  const { value: page } = requested;
  if (!page) return requested.fault === null ? <p aria-busy="true">Loading the users…</p> : <Fault says={requested.fault} />;
  const show = (made: Link) => {
    setLink(made);
    requested.again();
  };
  const heads = ["User", "Role", "Account", "Last seen", "State", ...(page.mayChange ? [""] : [])];
  return (
    <>
      {page.mayChange && <Invite accounts={page.accounts} made={show} />}
      {link && <Shown link={link} />}
      <Fault says={fault} />
      <div class="cards">
        <table>
          <thead>
            <tr>
              {heads.map((head) => (
                <th key={head} scope="col">
                  {head === "" ? <span class="unseen">Actions</span> : head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {page.users.map((user) => (
              <Row
                key={user.id}
                {...{ user, accounts: page.accounts }}
                mayChange={page.mayChange && user.id !== me.value?.signedIn?.userId}
                change={(one, what) => {
                  const run = async () => requested.put(await call<UsersView>("PATCH", `${PATH}/${one.id}`, what));
                  const confirmation = confirmationOf(one, what);
                  if (confirmation) think({ ...confirmation, run });
                  else void sent(run);
                }}
                reset={(one) =>
                  void sent(async () => {
                    const made = await call<CreatedInvitationView>("POST", `${PATH}/${one.id}/reset`);
                    show({ ...made, says: `Send this link to ${one.email}. It allows the user to set a new password.` });
                  })
                }
              />
            ))}
          </tbody>
        </table>
      </div>
      <Invitations requested={requested} think={think} />
      {dialog}
    </>
  );
};
