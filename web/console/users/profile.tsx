// `/console/profile`: name, password and sessions of the user.
import type { VNode } from "preact";
import type { MeView } from "../../../src/console/users-dto.ts";
import { call, me } from "../../components/api.ts";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { Field, Form } from "./form.tsx";
import { SESSIONS, type SessionList, Sessions } from "./sessions.tsx";
import { NewPasswordField } from "./sign-in.tsx";

type Who = NonNullable<MeView["signedIn"]>;

const NameCard = ({ who }: { who: Who }): VNode => (
  <section class="card" aria-labelledby="profile-name">
    <h2 id="profile-name">{words.profile.yourName}</h2>
    <Form
      does={words.save}
      done={words.saved}
      send={async (entered) => {
        me.value = await call<MeView>("PATCH", "/console/api/me", { name: entered("name") });
      }}
    >
      <Field says={words.profile.name} name="name" autoComplete="name" value={who.name} />
    </Form>
  </section>
);

const PasswordCard = ({ who, done }: { who: Who; done: (sessions: SessionList) => void }): VNode => (
  <section class="card" aria-labelledby="profile-password">
    <h2 id="profile-password">{words.profile.password}</h2>
    <Form
      does={words.profile.change}
      done={words.profile.changed}
      empties
      send={async (entered) => {
        const request = { old: entered("old"), password: entered("password") };
        done(await call<SessionList>("POST", "/console/api/me/password", request));
      }}
    >
      <input type="hidden" name="email" autocomplete="username" value={who.email} />
      <Field says={words.profile.current} name="old" type="password" autoComplete="current-password" />
      <NewPasswordField says={words.profile.next} />
    </Form>
  </section>
);

export const ProfilePage = (): VNode | null => {
  const requested = useQuery<SessionList>(SESSIONS);
  const who = me.value?.signedIn;
  if (!who) return null;
  return (
    <>
      <p class="profile-head">
        <strong>{who.email}</strong>
        <span>{words.profile.signedInAs(words.roles[who.role], who.accountName)}</span>
        {who.accountId !== null && <a href="/console/team">{words.profile.team}</a>}
      </p>
      <p class="muted">{words.roles.about[who.role]}</p>
      <div class="profile-cards">
        <NameCard who={who} />
        <PasswordCard who={who} done={requested.put} />
      </div>
      <Sessions requested={requested} />
    </>
  );
};
