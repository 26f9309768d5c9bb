// Users as rows: role, account, last use, and a menu of changes.
import { Ellipsis, type IconNode, KeyRound, Power, UserCog } from "lucide";
import type { VNode } from "preact";
import type { UsersView, UserView } from "../../../src/console/users-dto.ts";
import { me } from "../../components/api.ts";
import { Menu } from "../../components/menu.tsx";
import { MenuEntry } from "../../components/menu-entry.tsx";
import { RowTable } from "../../components/row-table.tsx";
import { Time } from "../../components/time.tsx";
import { words } from "../../words/console-words.ts";

export type UserActions = {
  changeRole: (user: UserView) => void;
  setDisabled: (user: UserView, disabled: boolean) => void;
  reset: (user: UserView) => void;
};
type Props = UserActions & Pick<UsersView, "users" | "accounts" | "mayChange">;
type RowProps = Omit<Props, "users"> & { user: UserView };

const UserMenu = ({ user, mayChange, changeRole, setDisabled, reset }: RowProps): VNode => {
  const isOut = user.disabledAtMs !== null;
  const entry = (label: string, icon: IconNode, onClick: () => void, isDanger = false) => (
    <MenuEntry {...{ label, icon, mayChange, isDanger, onClick }} />
  );
  return (
    <Menu label={words.actionsFor(user.email)} icon={Ellipsis}>
      {entry(words.users.changeRole, UserCog, () => changeRole(user))}
      {!isOut && entry(words.users.reset, KeyRound, () => reset(user))}
      {entry(isOut ? words.users.enable : words.users.disable, Power, () => setDisabled(user, !isOut), !isOut)}
    </Menu>
  );
};

const Row = (row: RowProps): VNode => {
  const { user, accounts } = row;
  const { columns } = words.users;
  const isYou = user.id === me.value?.signedIn?.userId;
  const account = accounts.find(({ id }) => id === user.accountId);
  return (
    <tr class={user.disabledAtMs === null ? undefined : "is-over"} data-id={user.id}>
      <th scope="row">
        <div class="stacked">
          <span>
            <span class="row-name">{user.name || user.email}</span> {isYou && <span class="badge">{words.users.you}</span>}
          </span>
          <span class="muted">{user.email}</span>
        </div>
      </th>
      <td data-head={columns.role} title={words.roles.about[user.role]}>
        {words.roles[user.role]}
      </td>
      <td data-head={columns.account}>
        {account ? (
          <a href={`/console/operator/accounts/${account.id}`}>{account.name}</a>
        ) : (
          <span class="muted">{words.users.noAccount}</span>
        )}
      </td>
      <td data-head={columns.lastSeen}>
        {user.seenAtMs === null ? <span class="muted">{words.users.neverSeen}</span> : <Time atMs={user.seenAtMs} />}
      </td>
      <td data-head={columns.state}>
        <span class={`status ${user.disabledAtMs === null ? "is-active" : "is-paused"}`}>
          {user.disabledAtMs === null ? words.users.active : words.users.disabled}
        </span>
      </td>
      <td class="row-menu">{!isYou && <UserMenu {...row} />}</td>
    </tr>
  );
};

export const UserTable = ({ users, ...shared }: Props): VNode => (
  <RowTable columns={words.users.columns}>
    {users.map((user) => (
      <Row key={user.id} user={user} {...shared} />
    ))}
  </RowTable>
);
