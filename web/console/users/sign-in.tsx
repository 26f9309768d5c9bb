// Sign-in page, with sign-up if the service allows it and help for forgotten passwords.
import type { VNode } from "preact";
import { useLocation } from "wouter-preact";
import type { MeView } from "../../../src/console/users-dto.ts";
import { MIN_PASSWORD_CHARS } from "../../../src/domain/user-mutations.ts";
import { call, me } from "../../components/api.ts";
import { words } from "../../words/console-words.ts";
import { Field, Form } from "./form.tsx";
import { ShellCommand, SignInCard } from "./sign-in-card.tsx";

export const EmailField = ({ value }: { value?: string | null }): VNode => (
  <Field
    {...{ says: words.signIn.email, name: "email", type: "email", autoComplete: "username" }}
    {...(typeof value === "string" ? { value, readOnly: true } : {})}
  />
);
export const NameField = (): VNode => <Field says={words.signIn.name} name="name" autoComplete="name" />;
export const NewPasswordField = ({ says = words.signIn.password }: { says?: string }): VNode => (
  <Field
    {...{ says, name: "password", type: "password", autoComplete: "new-password" }}
    hint={words.signIn.passwordHint(MIN_PASSWORD_CHARS)}
  />
);

const signIn = async (entered: (name: string) => string): Promise<void> => {
  // The layout then shows the page that was requested.
  me.value = await call<MeView>("POST", "/console/api/session", { email: entered("email"), password: entered("password") });
};

export const SignInPage = (): VNode => {
  const known = me.value;
  return (
    <SignInCard>
      {known?.isSetUp === false && (
        <div class="notice is-warn">
          <p>{words.signIn.noUser}</p>
          <ShellCommand args="users setup" />
        </div>
      )}
      <Form does={words.signIn.signIn} isFocused send={signIn}>
        <EmailField />
        <Field says={words.signIn.password} name="password" type="password" autoComplete="current-password" />
      </Form>
      <p class="sign-in-links">
        <a href="/console/forgotten">{words.signIn.forgot}</a>
        {known?.signUp && (
          <span>
            {words.signIn.noAccount} <a href="/console/sign-up">{words.signIn.signUp}</a>
          </span>
        )}
      </p>
    </SignInCard>
  );
};

export const SignUpPage = (): VNode => {
  const [, go] = useLocation();
  const back = (
    <p class="sign-in-links">
      <span>
        {words.signIn.hasAccount} <a href="/console/sign-in">{words.signIn.signIn}</a>
      </span>
    </p>
  );
  if (me.value?.signUp === false)
    return (
      <SignInCard>
        <p>{words.signIn.closed}</p>
        {back}
      </SignInCard>
    );
  const signUp = async (entered: (name: string) => string) => {
    const request = { email: entered("email"), name: entered("name"), password: entered("password") };
    me.value = await call<MeView>("POST", "/console/api/sign-up", request);
    go("/console", { replace: true });
  };
  return (
    <SignInCard>
      <Form does={words.signIn.signUp} isFocused send={signUp}>
        <NameField />
        <EmailField />
        <NewPasswordField />
      </Form>
      {back}
    </SignInCard>
  );
};

export const ForgottenPage = (): VNode => (
  <SignInCard>
    <p>{words.signIn.forgotAbout}</p>
    <p>{words.signIn.forgotOperator}</p>
    <ShellCommand args="users reset EMAIL" />
    <p class="sign-in-links">
      <a href="/console/sign-in">{words.signIn.back}</a>
    </p>
  </SignInCard>
);
