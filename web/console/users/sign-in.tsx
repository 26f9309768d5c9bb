// Sign-in page, with sign-up if the service allows it and help for forgotten passwords.
import type { VNode } from "preact";
import { useLocation } from "wouter-preact";
import type { MeView } from "../../../src/console/users-dto.ts";
import { MIN_PASSWORD_CHARS } from "../../../src/domain/user-mutations.ts";
import { call, me } from "../../components/api.ts";
import { Field, Form } from "./form.tsx";

export const PASSWORD_HINT = `At least ${MIN_PASSWORD_CHARS} characters, such as several random words.`;

export const SignInPage = (): VNode => {
  const known = me.value;
  return (
    <>
      {known?.isSetUp === false && (
        <p class="notice is-warn">
          No user exists yet. Open the link that the service printed at its start, or create a new link with{" "}
          <code>genrouter users setup</code>.
        </p>
      )}
      <Form
        does="Sign in"
        send={async (entered) => {
          // The layout then shows the page that was requested.
          me.value = await call<MeView>("POST", "/console/api/session", {
            email: entered("email"),
            password: entered("password"),
          });
        }}
      >
        <Field says="E-mail address" name="email" type="email" autoComplete="username" />
        <Field says="Password" name="password" type="password" autoComplete="current-password" />
      </Form>
      <p>
        <a href="/console/forgotten">Forgot your password?</a>
      </p>
      {known?.signUp && (
        <p>
          No account? <a href="/console/sign-up">Sign up</a>
        </p>
      )}
    </>
  );
};

export const SignUpPage = (): VNode => {
  const [, go] = useLocation();
  if (me.value?.signUp === false)
    return (
      <p class="notice">
        Sign-up is disabled; request an invitation from an operator of the service. <a href="/console/sign-in">Sign in</a>
      </p>
    );
  return (
    <Form
      does="Sign up"
      send={async (entered) => {
        const request = { email: entered("email"), name: entered("name"), password: entered("password") };
        me.value = await call<MeView>("POST", "/console/api/sign-up", request);
        go("/console", { replace: true });
      }}
    >
      <Field says="Name" name="name" autoComplete="name" />
      <Field says="E-mail address" name="email" type="email" autoComplete="username" />
      <Field says="Password" name="password" type="password" autoComplete="new-password" hint={PASSWORD_HINT} />
    </Form>
  );
};

export const ForgottenPage = (): VNode => (
  <>
    <p>
      Request a link to set a new password from an operator of this service. Operators create the link on the page Users, or with{" "}
      <code>genrouter users reset</code> and your e-mail address. The link is valid for one day and one use.
    </p>
    <p>
      <a href="/console/sign-in">Back to sign-in</a>
    </p>
  </>
);
