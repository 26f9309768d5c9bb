// Links that were created and not used yet: invitations, password resets and the set-up; each can be revoked.
import type { VNode } from "preact";
import type { InvitationView, UsersView } from "../../../src/console/users-dto.ts";
import { call } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { lockUnless } from "../../components/read-only.tsx";
import { RowTable } from "../../components/row-table.tsx";
import { showToast } from "../../components/toast.tsx";
import type { Query } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { relativeTime } from "../format.ts";
import type { Confirmation } from "./confirm-dialog.tsx";

const Row = ({ of, mayChange, revoke }: { of: InvitationView; mayChange: boolean; revoke: () => void }): VNode => {
  const { pendingColumns: columns } = words.users;
  const who = of.email ?? words.users.setupFor;
  return (
    <tr data-id={of.id}>
      <th scope="row">
        <div class="stacked">
          <span class="row-name">{who}</span>
          <span class="muted">{words.roles[of.role]}</span>
        </div>
      </th>
      <td data-head={columns.kind}>{words.users.kinds[of.kind]}</td>
      <td data-head={columns.by}>{of.madeBy}</td>
      <td data-head={columns.expires} title={timeText(of.expiresAtMs)}>
        {relativeTime(of.expiresAtMs, Date.now())}
      </td>
      <td class="row-menu">
        <button
          type="button"
          class="button is-small"
          {...lockUnless(mayChange)}
          aria-label={words.users.revokeOf(who)}
          onClick={revoke}
        >
          {words.users.revoke}
        </button>
      </td>
    </tr>
  );
};

type Props = { page: UsersView; requested: Query<UsersView>; confirm: (confirmation: Confirmation) => void };

export const PendingLinks = ({ page, requested, confirm }: Props): VNode | null => {
  if (page.invitations.length === 0) return null;
  const revoke = ({ id, email }: InvitationView) =>
    confirm({
      title: words.users.revokeTitle(email ?? words.users.setupFor),
      says: words.users.revokeAbout,
      does: words.users.revoke,
      run: async () => {
        requested.put(await call<UsersView>("DELETE", `/console/api/operator/invitations/${id}`));
        showToast(words.users.revoked);
      },
    });
  return (
    <section aria-labelledby="pending-links">
      <h2 id="pending-links">{words.users.pending}</h2>
      <RowTable columns={words.users.pendingColumns}>
        {page.invitations.map((one) => (
          <Row key={one.id} of={one} mayChange={page.mayChange} revoke={() => revoke(one)} />
        ))}
      </RowTable>
    </section>
  );
};
