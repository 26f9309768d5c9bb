// Page of a one-time link: setup, invitation or password reset.
//
// The token is in the fragment of the URL.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import type { LinkView, MeView } from "../../../src/console/users-dto.ts";
import { call, errorText, me } from "../../components/api.ts";
import { Fault, Field, Form } from "./form.tsx";
import { PASSWORD_HINT } from "./sign-in.tsx";

const INCOMPLETE = "This link is incomplete. Copy the complete link and open it again.";
const ROLES = { operator: "an operator", viewer: "a viewer", member: "a member" } as const;

const Intro = ({ link }: { link: LinkView }): VNode => {
  if (link.kind === "setup")
    return <p>You become the first operator. An operator can view and change everything and invites the other users.</p>;
  if (link.kind === "reset") return <p>Choose a new password. All your sessions will be signed out.</p>;
  return (
    <p>
      You are invited as {ROLES[link.role]}
      {link.accountName === null ? "" : ` of ${link.accountName}`}.
    </p>
  );
};

export const LinkPage = (): VNode => {
  const [, go] = useLocation();
  const [token] = useState(() => location.hash.slice(1));
  const [link, setLink] = useState<LinkView | null>(null);
  const [fault, setFault] = useState<string | null>(/^[\w-]{43}$/.test(token) ? null : INCOMPLETE);
  useEffect(() => {
    if (fault !== null) return;
    call<LinkView>("POST", "/console/api/link", { token }).then(setLink, (thrown: unknown) => setFault(errorText(thrown)));
  }, [token, fault]);
  if (fault !== null)
    return (
      <>
        <Fault says={fault} />
        <p>
          <a href="/console/sign-in">Sign in</a>
        </p>
      </>
    );
  if (link === null) return <p aria-busy="true">Loading the link…</p>;
  const isReset = link.kind === "reset";
  return (
    <>
      <Intro link={link} />
      <Form
        does={link.kind === "setup" ? "Set up" : isReset ? "Set the password" : "Join"}
        send={async (entered) => {
          const more = isReset ? {} : { name: entered("name"), email: entered("email") };
          me.value = await call<MeView>("POST", "/console/api/link/accept", { token, password: entered("password"), ...more });
          go("/console", { replace: true });
        }}
      >
        {!isReset && <Field says="Name" name="name" autoComplete="name" />}
        <Field
          {...{ says: "E-mail address", name: "email", type: "email", autoComplete: "username" }}
          {...(link.email === null ? {} : { value: link.email, readOnly: true })}
        />
        <Field says="Password" name="password" type="password" autoComplete="new-password" hint={PASSWORD_HINT} />
      </Form>
    </>
  );
};
