// `/console/profile`: name, password and sessions of the user.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { MeView, SessionView } from "../../../src/console/users-dto.ts";
import { call, errorText, learnMe, me } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { useConfirmation } from "./confirm-dialog.tsx";
import { Fault, Field, Form } from "./form.tsx";
import { PASSWORD_HINT } from "./sign-in.tsx";

type Listed = { sessions: SessionView[] };
const PATH = "/console/api/sessions";

/** Browser and operating system of a user agent, if recognized. */
const agentText = (agent: string): string => {
  const browser = /(Edg|OPR|Firefox|HeadlessChrome|Chrome|Safari)\/\d+/.exec(agent)?.[1];
  const system = /(Windows|Macintosh|Android|iPhone|iPad|Linux)/.exec(agent)?.[1];
  const names: Record<string, string> = { Edg: "Edge", OPR: "Opera", HeadlessChrome: "Chrome", Macintosh: "macOS" };
  const text = [browser, system].flatMap((name) => (name === undefined ? [] : [names[name] ?? name]));
  return text.length === 0 ? agent.slice(0, 60) || "Unknown browser" : text.join(" on ");
};

const Sessions = ({ requested }: { requested: ReturnType<typeof useQuery<Listed>> }): VNode => {
  const [fault, setFault] = useState<string | null>(null);
  const [dialog, think] = useConfirmation();
  const end = async (path: string, leaves: boolean): Promise<void> => {
    const answer = await call<Listed>("DELETE", path);
    if (leaves) await learnMe();
    else requested.put(answer);
  };
  const endOne = (path: string, leaves: boolean): void => {
    setFault(null);
    end(path, leaves).catch((thrown: unknown) => setFault(errorText(thrown)));
  };
  const sessions = requested.value?.sessions;
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      <Fault says={fault ?? requested.fault} />
      {sessions === undefined && requested.fault === null && <p aria-busy="true">Loading the sessions…</p>}
      {sessions && (
        <>
          <div class="cards">
            <table>
              <thead>
                <tr>
                  {["Browser", "Address", "Last used", "Since", ""].map((head) => (
                    <th key={head} scope="col">
                      {head === "" ? <span class="unseen">Actions</span> : head}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {sessions.map((row) => (
                  <tr key={row.id}>
                    <td data-head="Browser">
                      <span>
                        {agentText(row.agent)} {row.isThis && <span class="badge">This session</span>}
                      </span>
                    </td>
                    <td data-head="Address">{row.address}</td>
                    <td data-head="Last used">{timeText(row.seenAtMs)}</td>
                    <td data-head="Since">{timeText(row.createdAtMs)}</td>
                    <td>
                      <button
                        type="button"
                        class="button"
                        aria-label={`Sign out ${agentText(row.agent)} of ${timeText(row.createdAtMs)}`}
                        onClick={() => endOne(`${PATH}/${row.id}`, row.isThis)}
                      >
                        Sign out
                      </button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <div class="actions">
            <button
              type="button"
              class="button"
              onClick={() =>
                think({
                  title: "Sign out everywhere else?",
                  says: "All other browsers are signed out immediately. This browser stays signed in.",
                  does: "Sign out elsewhere",
                  run: () => end(`${PATH}?keep=this`, false),
                })
              }
            >
              Sign out everywhere else
            </button>
            <button
              type="button"
              class="button is-danger"
              onClick={() =>
                think({
                  title: "Sign out everywhere?",
                  says: "All browsers are signed out immediately, including this browser.",
                  does: "Sign out of all",
                  run: () => end(PATH, true),
                })
              }
            >
              Sign out everywhere
            </button>
          </div>
        </>
      )}
      {dialog}
    </section>
  );
};

export const ProfilePage = (): VNode | null => {
  const requested = useQuery<Listed>(PATH);
  const who = me.value?.signedIn;
  if (!who) return null;
  return (
    <>
      <p>
        {who.email} · {who.role}
        {who.accountName === null ? "" : ` of ${who.accountName}`}
      </p>
      <h2>Name</h2>
      <Form
        does="Save"
        done="Saved."
        send={async (entered) => {
          me.value = await call<MeView>("PATCH", "/console/api/me", { name: entered("name") });
        }}
      >
        <Field says="Name" name="name" autoComplete="name" value={who.name} />
      </Form>
      <h2>Password</h2>
      <Form
        does="Change the password"
        done="The password is changed. All other sessions were signed out."
        empties
        send={async (entered) => {
          const request = { old: entered("old"), password: entered("password") };
          requested.put(await call<Listed>("POST", "/console/api/me/password", request));
        }}
      >
        <input type="hidden" name="email" autocomplete="username" value={who.email} />
        <Field says="Current password" name="old" type="password" autoComplete="current-password" />
        <Field says="New password" name="password" type="password" autoComplete="new-password" hint={PASSWORD_HINT} />
      </Form>
      <Sessions requested={requested} />
    </>
  );
};
