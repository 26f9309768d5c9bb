// `/console/operator/users`: users, open invitations and one-time links.
import { UserPlus } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Role } from "../../../src/console/request-context.ts";
import type { CreatedInvitationView, UsersView, UserView } from "../../../src/console/users-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { Icon } from "../../components/icon.tsx";
import { Modal } from "../../components/modal.tsx";
import { lockUnless, ReadOnlyNote } from "../../components/read-only.tsx";
import { SecretDialog } from "../../components/secret-dialog.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { showToast } from "../../components/toast.tsx";
import { type Query, useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { DialogForm } from "../dialog-form.tsx";
import { useConfirmation } from "./confirm-dialog.tsx";
import { Fault } from "./form.tsx";
import { InviteDialog } from "./invite.tsx";
import { PendingLinks } from "./pending-links.tsx";
import { RoleChoice } from "./role-choice.tsx";
import { UserTable } from "./user-table.tsx";

const PATH = "/console/api/operator/users";
type Change = { role?: Role; disabled?: boolean };
type Open =
  | { kind: "invite" }
  | { kind: "role"; user: UserView }
  | { kind: "link"; title: string; about: string; link: CreatedInvitationView };

type RoleProps = { user: UserView; close: () => void; save: (role: Role) => Promise<unknown> };

const RoleDialog = ({ user, close, save }: RoleProps): VNode => {
  const [role, setRole] = useState(user.role);
  return (
    <Modal title={words.users.roleTitle(user.email)} close={close}>
      <DialogForm does={words.save} close={close} send={() => save(role)}>
        <RoleChoice role={role} set={setRole} hasAccount={user.accountId !== null} />
      </DialogForm>
    </Modal>
  );
};

const linkOf = (kind: "invite" | "reset", email: string, link: CreatedInvitationView): Open => ({
  ...{ kind: "link", link },
  title: kind === "invite" ? words.users.inviteLink : words.users.resetLink,
  about: kind === "invite" ? words.users.inviteAbout(email) : words.users.resetAbout(email),
});

/** Changes of users; each answers with the whole page. */
const useChanges = (requested: Query<UsersView>, open: (dialog: Open | null) => void) => {
  const [fault, setFault] = useState<string | null>(null);
  const [dialog, confirm] = useConfirmation();
  const change = async ({ id }: UserView, what: Change, said: string) => {
    requested.put(await call<UsersView>("PATCH", `${PATH}/${id}`, what));
    showToast(said);
  };
  const attempt = (work: () => Promise<unknown>) => {
    setFault(null);
    work().catch((thrown: unknown) => {
      setFault(errorText(thrown));
      requested.again();
    });
  };
  const setDisabled = (user: UserView, disabled: boolean) => {
    if (!disabled) return attempt(() => change(user, { disabled }, words.users.nowEnabled(user.email)));
    confirm({
      title: words.users.disableTitle(user.email),
      says: words.users.disableAbout,
      does: words.users.disable,
      run: () => change(user, { disabled }, words.users.nowDisabled(user.email)),
    });
  };
  const reset = (user: UserView) =>
    attempt(async () => {
      open(linkOf("reset", user.email, await call<CreatedInvitationView>("POST", `${PATH}/${user.id}/reset`)));
      requested.again();
    });
  const saveRole = async (user: UserView, role: Role) => {
    if (role !== user.role) await change(user, { role }, words.users.roleChanged(user.email, words.roles[role]));
    open(null);
  };
  return { fault, dialog, confirm, setDisabled, reset, saveRole };
};

type DialogProps = {
  of: Open;
  page: UsersView;
  close: () => void;
  invited: (link: CreatedInvitationView, email: string) => void;
  saveRole: (user: UserView, role: Role) => Promise<unknown>;
};

const UserDialog = ({ of, page, close, invited, saveRole }: DialogProps): VNode => {
  if (of.kind === "invite") return <InviteDialog accounts={page.accounts} close={close} made={invited} />;
  if (of.kind === "role") return <RoleDialog user={of.user} close={close} save={(role) => saveRole(of.user, role)} />;
  const { title, about, link } = of;
  return (
    <SecretDialog {...{ title, about, label: words.users.linkLabel, secret: link.url, close }}>
      <p class="muted">{words.users.linkUntil(timeText(link.expiresAtMs))}</p>
    </SecretDialog>
  );
};

export const UsersPage = (): VNode => {
  const requested = useQuery<UsersView>(PATH);
  const [shown, open] = useState<Open | null>(null);
  const { fault, dialog, confirm, setDisabled, reset, saveRole } = useChanges(requested, open);
  const { value: page } = requested;
  if (!page)
    return requested.fault === null ? <Skeleton lines={4} label={words.users.loading} /> : <Fault says={requested.fault} />;
  const { users, accounts, mayChange } = page;
  return (
    <>
      <div class="page-head">
        <p>{words.users.about}</p>
        <button type="button" class="button is-main" {...lockUnless(mayChange)} onClick={() => open({ kind: "invite" })}>
          <Icon of={UserPlus} />
          {words.users.invite}
        </button>
      </div>
      {!mayChange && <ReadOnlyNote />}
      <Fault says={fault} />
      <UserTable {...{ users, accounts, mayChange, setDisabled, reset }} changeRole={(user) => open({ kind: "role", user })} />
      <PendingLinks {...{ page, requested, confirm }} />
      {dialog}
      {shown !== null && (
        <UserDialog
          key={shown.kind}
          {...{ of: shown, page, saveRole }}
          close={() => open(null)}
          invited={(link, email) => {
            open(linkOf("invite", email, link));
            requested.again();
          }}
        />
      )}
    </>
  );
};
