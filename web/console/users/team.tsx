// `/console/team`: who shares the account of the user. Operators invite.
import type { VNode } from "preact";
import type { TeamView } from "../../../src/console/users-dto.ts";
import { me } from "../../components/api.ts";
import { Skeleton } from "../../components/skeleton.tsx";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { Fault } from "./form.tsx";

const Row = ({ of: { id, name, email, role } }: { of: TeamView["users"][number] }): VNode => (
  <tr>
    <th scope="row">
      <div class="stacked">
        <span>
          <span class="row-name">{name || email}</span>{" "}
          {id === me.value?.signedIn?.userId && <span class="badge">{words.team.you}</span>}
        </span>
        <span class="muted">{email}</span>
      </div>
    </th>
    <td data-head={words.team.columns.role}>
      <div class="stacked">
        <span>{words.roles[role]}</span>
        <span class="muted">{words.roles.about[role]}</span>
      </div>
    </td>
  </tr>
);

export const TeamPage = (): VNode => {
  const { value: team, fault } = useQuery<TeamView>("/console/api/team");
  const mayInvite = me.value?.signedIn?.role === "operator";
  if (!team) return fault === null ? <Skeleton lines={3} label={words.team.loading} /> : <Fault says={fault} />;
  return (
    <>
      <div class="page-head">
        <p>
          {words.team.about(team.account.name)} {!mayInvite && words.team.invite}
        </p>
        {mayInvite && (
          <a class="button" href="/console/operator/users">
            {words.users.invite}
          </a>
        )}
      </div>
      <div class="cards panel">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{words.team.columns.user}</th>
              <th scope="col">{words.team.columns.role}</th>
            </tr>
          </thead>
          <tbody>
            {team.users.map((user) => (
              <Row key={user.id} of={user} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
};
