// Table of all console pages: path, navigation entry, required access and loader.
import type { ComponentType } from "preact";
import { call, me } from "../components/api.ts";
import { lazyPage } from "../components/lazy-page.tsx";

/** `params`: path parameters; `account`: the viewed account, if an operator views another one. */
export type ViewProps = { params: Readonly<Record<string, string>>; account: string | null };
/** `who`: `user`: every signed-in user; `member`: users with an account; `viewer`: users who may read the operator pages. */
export type PageOf = {
  path: string;
  title: string;
  who: "user" | "member" | "viewer";
  place?: { says: string; group: string };
  /** The URL names the account as `account`. `accounts`: without it, users who have no account see all accounts. */
  shows?: "account" | "accounts";
  View: ComponentType<ViewProps>;
};

const LINK_TITLES = { setup: "Set up this service", join: "Join", reset: "Set a new password" } as const;

/** Pages for users who are not signed in. */
export const OPEN_PAGES: readonly PageOf[] = [
  {
    ...{ path: "/console/sign-in", title: "Sign in", who: "user" },
    View: lazyPage(async () => (await import("./users/sign-in.tsx")).SignInPage),
  },
  {
    ...{ path: "/console/sign-up", title: "Sign up", who: "user" },
    View: lazyPage(async () => (await import("./users/sign-in.tsx")).SignUpPage),
  },
  {
    ...{ path: "/console/forgotten", title: "Forgotten password", who: "user" },
    View: lazyPage(async () => (await import("./users/sign-in.tsx")).ForgottenPage),
  },
  ...(["setup", "join", "reset"] as const).map(
    (kind): PageOf => ({
      ...{ path: `/console/${kind}`, title: LINK_TITLES[kind], who: "user" },
      View: lazyPage(async () => (await import("./users/link.tsx")).LinkPage),
    }),
  ),
];

export const PAGES: readonly PageOf[] = [
  {
    ...{ path: "/console/generations", title: "Generations", who: "user", place: { says: "Generations", group: "" } },
    shows: "accounts",
    View: lazyPage(async () => (await import("./generations/generations.tsx")).GenerationsPage),
  },
  {
    ...{ path: "/console/playground", title: "Playground", who: "user", place: { says: "Playground", group: "" } },
    View: lazyPage(async () => (await import("./generations/playground.tsx")).PlaygroundPage),
  },
  {
    ...{ path: "/console/generations/:id", title: "Generation", who: "user" },
    View: lazyPage(async () => {
      const { GenerationPage } = await import("./generations/generation.tsx");
      return ({ params }: ViewProps) => <GenerationPage id={params.id ?? ""} />;
    }),
  },
  {
    ...{ path: "/console/files", title: "Files", who: "user", place: { says: "Files", group: "" } },
    shows: "account",
    View: lazyPage(async () => (await import("./files/files-page.tsx")).FilesPage),
  },
  {
    ...{ path: "/console/keys", title: "API keys", who: "user", place: { says: "API keys", group: "" } },
    shows: "account",
    View: lazyPage(async () => {
      const { KeysView } = await import("./keys.tsx");
      return ({ account }: ViewProps) => <KeysView send={call} account={account} />;
    }),
  },
  {
    ...{ path: "/console/webhooks", title: "Webhooks", who: "user", place: { says: "Webhooks", group: "" } },
    shows: "account",
    View: lazyPage(async () => (await import("./webhooks/webhooks-page.tsx")).WebhooksView),
  },
  {
    ...{ path: "/console/credits", title: "Credits", who: "user", place: { says: "Credits", group: "" } },
    shows: "account",
    View: lazyPage(async () => (await import("./credits/credits.tsx")).CreditsPage),
  },
  {
    ...{ path: "/console/ledger", title: "Ledger", who: "user", place: { says: "Ledger", group: "" } },
    shows: "account",
    View: lazyPage(async () => (await import("./credits/ledger.tsx")).LedgerPage),
  },
  {
    ...{ path: "/console/receipts/:id", title: "Receipt", who: "user" },
    View: lazyPage(async () => {
      const { ReceiptPage } = await import("./credits/receipt.tsx");
      return ({ params }: ViewProps) => <ReceiptPage id={params.id ?? ""} />;
    }),
  },
  {
    ...{ path: "/console/checkout/:id", title: "Test checkout", who: "user" },
    View: lazyPage(async () => {
      const { CheckoutPage } = await import("./credits/checkout.tsx");
      return ({ params }: ViewProps) => <CheckoutPage id={params.id ?? ""} />;
    }),
  },
  {
    ...{ path: "/console/usage", title: "Usage", who: "user", place: { says: "Usage", group: "" } },
    shows: "accounts",
    View: lazyPage(async () => {
      const { UsageView } = await import("./usage.tsx");
      return ({ account }: ViewProps) => (
        <UsageView send={call} account={account} byAccount={me.value?.signedIn?.role !== "member"} />
      );
    }),
  },
  {
    ...{ path: "/console/operator/accounts", title: "Accounts", who: "viewer", place: { says: "Accounts", group: "Operator" } },
    View: lazyPage(async () => (await import("./operator/accounts.tsx")).AccountsView),
  },
  {
    ...{ path: "/console/operator/accounts/:id", title: "Account", who: "viewer" },
    View: lazyPage(async () => {
      const { AccountPage } = await import("./operator/account.tsx");
      return ({ params }: ViewProps) => <AccountPage id={params.id ?? ""} />;
    }),
  },
  {
    ...{ path: "/console/operator/routes", title: "Routes", who: "viewer", place: { says: "Routes", group: "Operator" } },
    View: lazyPage(async () => (await import("./operator/routes.tsx")).RoutesView),
  },
  {
    ...{
      path: "/console/operator/providers",
      title: "Providers",
      who: "viewer",
      place: { says: "Providers", group: "Operator" },
    },
    View: lazyPage(async () => (await import("./operator/providers.tsx")).ProvidersView),
  },
  {
    ...{ path: "/console/operator/orphans", title: "Orphans", who: "viewer", place: { says: "Orphans", group: "Operator" } },
    View: lazyPage(async () => (await import("./operator/orphans.tsx")).OrphansView),
  },
  {
    ...{
      path: "/console/operator/verification",
      title: "Ledger verification",
      who: "viewer",
      place: { says: "Ledger verification", group: "Operator" },
    },
    View: lazyPage(async () => (await import("./operator/ledger-verification.tsx")).LedgerVerificationPage),
  },
  {
    ...{ path: "/console/operator/service", title: "Service", who: "viewer", place: { says: "Service", group: "Operator" } },
    View: lazyPage(async () => (await import("./operator/service.tsx")).ServicePage),
  },
  {
    ...{ path: "/console/profile", title: "Profile and sessions", who: "user", place: { says: "Profile", group: "" } },
    View: lazyPage(async () => (await import("./users/profile.tsx")).ProfilePage),
  },
  {
    ...{ path: "/console/operator/users", title: "Users", who: "viewer", place: { says: "Users", group: "Operator" } },
    View: lazyPage(async () => (await import("./users/users.tsx")).UsersPage),
  },
  {
    ...{ path: "/console/operator/audit", title: "Audit log", who: "viewer", place: { says: "Audit log", group: "Operator" } },
    View: lazyPage(async () => (await import("./users/audit.tsx")).AuditPage),
  },
];
