// Page of a one-time link: setup, invitation or password reset.
//
// The token is in the fragment of the URL.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import type { LinkView, MeView } from "../../../src/console/users-dto.ts";
import { call, errorText, me } from "../../components/api.ts";
import { Skeleton } from "../../components/skeleton.tsx";
import { words } from "../../words/console-words.ts";
import { Fault, Form } from "./form.tsx";
import { EmailField, NameField, NewPasswordField } from "./sign-in.tsx";
import { SignInCard } from "./sign-in-card.tsx";

const Intro = ({ link: { kind, role, accountName } }: { link: LinkView }): VNode => {
  if (kind === "setup") return <p>{words.links.setupAbout}</p>;
  if (kind === "reset") return <p>{words.links.resetAbout}</p>;
  return (
    <>
      <p>{accountName === null ? words.links.invited : words.links.invitedTo(accountName)}</p>
      <p class="muted">{words.links.invitedAs(words.roles[role], words.roles.about[role])}</p>
    </>
  );
};

const submitOf = (kind: LinkView["kind"]): string =>
  kind === "setup" ? words.links.doSetup : kind === "reset" ? words.links.doReset : words.links.doJoin;

const Accept = ({ link, token }: { link: LinkView; token: string }): VNode => {
  const [, go] = useLocation();
  const isReset = link.kind === "reset";
  const accept = async (entered: (name: string) => string) => {
    const more = isReset ? {} : { name: entered("name"), email: entered("email") };
    me.value = await call<MeView>("POST", "/console/api/link/accept", { token, password: entered("password"), ...more });
    go("/console", { replace: true });
  };
  return (
    <SignInCard>
      <Intro link={link} />
      <Form does={submitOf(link.kind)} isFocused send={accept}>
        {!isReset && <NameField />}
        <EmailField value={link.email} />
        <NewPasswordField />
      </Form>
    </SignInCard>
  );
};

export const LinkPage = (): VNode => {
  const [token] = useState(() => location.hash.slice(1));
  const [link, setLink] = useState<LinkView | null>(null);
  const [fault, setFault] = useState<string | null>(/^[\w-]{43}$/.test(token) ? null : words.links.incomplete);
  useEffect(() => {
    if (fault !== null) return;
    call<LinkView>("POST", "/console/api/link", { token }).then(setLink, (thrown: unknown) => setFault(errorText(thrown)));
  }, [token, fault]);
  if (fault === null && link !== null) return <Accept link={link} token={token} />;
  return (
    <SignInCard>
      {fault === null ? <Skeleton label={words.links.loading} /> : <Fault says={fault} />}
      {fault !== null && (
        <p class="sign-in-links">
          <a href="/console/sign-in">{words.signIn.back}</a>
        </p>
      )}
    </SignInCard>
  );
};
