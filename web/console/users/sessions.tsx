// Sessions of the user with their browsers; each can be signed out.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { SessionView } from "../../../src/console/users-dto.ts";
import { call, errorText, learnMe } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { RowTable } from "../../components/row-table.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import type { Query } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { useConfirmation } from "./confirm-dialog.tsx";
import { Fault } from "./form.tsx";

export type SessionList = { sessions: SessionView[] };
export const SESSIONS = "/console/api/sessions";

const MAX_AGENT_CHARS = 60;

/** Browser and operating system of a user agent, if recognized. */
const agentText = (agent: string): string => {
  const browser = /(Edg|OPR|Firefox|HeadlessChrome|Chrome|Safari)\/\d+/.exec(agent)?.[1];
  const system = /(Windows|Macintosh|Android|iPhone|iPad|Linux)/.exec(agent)?.[1];
  const names: Record<string, string> = { Edg: "Edge", OPR: "Opera", HeadlessChrome: "Chrome", Macintosh: "macOS" };
  const known = (name: string): string => names[name] ?? name;
  if (browser !== undefined && system !== undefined) return words.profile.browserOn(known(browser), known(system));
  const one = browser ?? system;
  return one === undefined ? agent.slice(0, MAX_AGENT_CHARS) || words.profile.unknown : known(one);
};

const Row = ({ of, end }: { of: SessionView; end: () => void }): VNode => {
  const { columns } = words.profile;
  const browser = agentText(of.agent);
  return (
    <tr data-id={of.id}>
      <th scope="row">
        <span class="row-name">{browser}</span> {of.isThis && <span class="badge">{words.profile.thisOne}</span>}
      </th>
      <td data-head={columns.address}>{of.address}</td>
      <td data-head={columns.lastUsed}>
        <Time atMs={of.seenAtMs} />
      </td>
      <td data-head={columns.since}>
        <Time atMs={of.createdAtMs} />
      </td>
      <td class="row-menu">
        <button
          type="button"
          class="button is-small"
          aria-label={words.profile.signOutOf(browser, timeText(of.createdAtMs))}
          onClick={end}
        >
          {words.profile.signOut}
        </button>
      </td>
    </tr>
  );
};

const Table = ({ sessions, end }: SessionList & { end: (session: SessionView) => void }): VNode => (
  <RowTable columns={words.profile.columns}>
    {sessions.map((row) => (
      <Row key={row.id} of={row} end={() => end(row)} />
    ))}
  </RowTable>
);

export const Sessions = ({ requested }: { requested: Query<SessionList> }): VNode => {
  const [fault, setFault] = useState<string | null>(null);
  const [dialog, confirm] = useConfirmation();
  const end = async (path: string, leaves: boolean): Promise<void> => {
    const answer = await call<SessionList>("DELETE", path);
    if (leaves) return learnMe();
    requested.put(answer);
    showToast(words.profile.signedOut);
  };
  const endOne = ({ id, isThis }: SessionView): void => {
    setFault(null);
    end(`${SESSIONS}/${id}`, isThis).catch((thrown: unknown) => setFault(errorText(thrown)));
  };
  const sessions = requested.value?.sessions;
  const { profile } = words;
  const elsewhere = () =>
    confirm({
      ...{ title: profile.elsewhereTitle, says: profile.elsewhereAbout, does: profile.elsewhere },
      run: () => end(`${SESSIONS}?keep=this`, false),
    });
  const everywhere = () =>
    confirm({
      ...{ title: profile.everywhereTitle, says: profile.everywhereAbout, does: profile.everywhere },
      run: () => end(SESSIONS, true),
    });
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">{profile.sessions}</h2>
      <Fault says={fault ?? requested.fault} />
      {sessions === undefined && requested.fault === null && <Skeleton label={profile.loading} />}
      {sessions && (
        <>
          <Table sessions={sessions} end={endOne} />
          <div class="actions">
            <button type="button" class="button" disabled={sessions.length < 2} onClick={elsewhere}>
              {profile.elsewhere}
            </button>
            <button type="button" class="button is-danger" onClick={everywhere}>
              {profile.everywhere}
            </button>
          </div>
        </>
      )}
      {dialog}
    </section>
  );
};
