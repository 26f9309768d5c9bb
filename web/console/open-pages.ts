// Pages for users who are not signed in, as one script.
export { LinkPage } from "./users/link.tsx";
export { ForgottenPage, SignInPage, SignUpPage } from "./users/sign-in.tsx";
