// Table of all console pages: path, navigation entry, required access and loader.
import {
  Activity,
  Boxes,
  ChartColumn,
  CreditCard,
  FolderOpen,
  GitFork,
  type IconNode,
  Images,
  KeyRound,
  LayoutDashboard,
  Plug,
  ReceiptText,
  ScrollText,
  ShieldCheck,
  Unlink,
  Users,
  UsersRound,
  WandSparkles,
  Webhook,
} from "lucide";
import type { ComponentType } from "preact";
import { call } from "../components/api.ts";
import { type LazyPage, lazyPage } from "../components/lazy-page.tsx";
import type { ConsoleWords } from "../words/en.ts";

/** `params`: path parameters; `account`: the viewed account, if an operator views another one. */
export type ViewProps = { params: Readonly<Record<string, string>>; account: string | null };
/** `who`: `user`: every signed-in user; `member`: users with an account; `viewer`: users who may read the operator pages. */
export type PageOf = {
  path: string;
  /** Key of the title. */
  name: keyof ConsoleWords["pages"];
  who: "user" | "member" | "viewer";
  /** Its entry in the navigation. */
  place?: { group: keyof ConsoleWords["groups"]; icon: IconNode };
  /** The URL names the account as `account`. `accounts`: without it, users who have no account see all accounts. */
  shows?: "account" | "accounts";
  View: LazyPage<ViewProps>;
};

/** Pages for users who are not signed in. */
export const OPEN_PAGES: readonly PageOf[] = [
  {
    ...{ path: "/console/sign-in", name: "signIn", who: "user" },
    View: lazyPage(async () => (await import("./open-pages.ts")).SignInPage),
  },
  {
    ...{ path: "/console/sign-up", name: "signUp", who: "user" },
    View: lazyPage(async () => (await import("./open-pages.ts")).SignUpPage),
  },
  {
    ...{ path: "/console/forgotten", name: "forgotten", who: "user" },
    View: lazyPage(async () => (await import("./open-pages.ts")).ForgottenPage),
  },
  ...(["setup", "join", "reset"] as const).map(
    (kind): PageOf => ({
      ...{ path: `/console/${kind}`, name: kind, who: "user" },
      View: lazyPage(async () => (await import("./open-pages.ts")).LinkPage),
    }),
  ),
];

/** Operator pages are loaded together with their words. */
const operatorPage = <P extends object>(load: () => Promise<ComponentType<P>>): LazyPage<P> =>
  lazyPage(async () => {
    const [{ loadOperatorWords }, page] = await Promise.all([import("../words/operator-words.ts"), load()]);
    await loadOperatorWords();
    return page;
  });

export const PAGES: readonly PageOf[] = [
  {
    ...{ path: "/console/playground", name: "playground", who: "user", place: { group: "create", icon: WandSparkles } },
    View: lazyPage(async () => (await import("./create-pages.ts")).PlaygroundPage),
  },
  {
    ...{ path: "/console/models", name: "models", who: "user", place: { group: "create", icon: Boxes } },
    View: lazyPage(async () => (await import("./create-pages.ts")).ModelsPage),
  },
  {
    ...{ path: "/console/models/:id", name: "model", who: "user" },
    View: lazyPage(async () => {
      const { ModelPage } = await import("./create-pages.ts");
      return ({ params }: ViewProps) => <ModelPage id={params.id ?? ""} />;
    }),
  },
  {
    ...{ path: "/console/generations", name: "generations", who: "user", place: { group: "create", icon: Images } },
    shows: "accounts",
    View: lazyPage(async () => (await import("./create-pages.ts")).GenerationsPage),
  },
  {
    ...{ path: "/console/generations/:id", name: "generation", who: "user" },
    View: lazyPage(async () => {
      const { GenerationPage } = await import("./create-pages.ts");
      return ({ params }: ViewProps) => <GenerationPage id={params.id ?? ""} />;
    }),
  },
  {
    ...{ path: "/console/files", name: "files", who: "user", place: { group: "create", icon: FolderOpen } },
    shows: "account",
    View: lazyPage(async () => (await import("./create-pages.ts")).FilesPage),
  },
  {
    ...{ path: "/console/keys", name: "keys", who: "user", place: { group: "develop", icon: KeyRound } },
    shows: "account",
    View: lazyPage(async () => {
      const { KeysView } = await import("./account-pages.ts");
      return ({ account }: ViewProps) => <KeysView send={call} account={account} />;
    }),
  },
  {
    ...{ path: "/console/webhooks", name: "webhooks", who: "user", place: { group: "develop", icon: Webhook } },
    shows: "account",
    View: lazyPage(async () => (await import("./account-pages.ts")).WebhooksView),
  },
  {
    ...{ path: "/console/credits", name: "credits", who: "user", place: { group: "money", icon: CreditCard } },
    shows: "account",
    View: lazyPage(async () => (await import("./account-pages.ts")).CreditsPage),
  },
  {
    ...{ path: "/console/ledger", name: "ledger", who: "user", place: { group: "money", icon: ReceiptText } },
    shows: "account",
    View: lazyPage(async () => (await import("./account-pages.ts")).LedgerPage),
  },
  {
    ...{ path: "/console/receipts/:id", name: "receipt", who: "user" },
    View: lazyPage(async () => {
      const { ReceiptPage } = await import("./account-pages.ts");
      return ({ params }: ViewProps) => <ReceiptPage id={params.id ?? ""} />;
    }),
  },
  {
    ...{ path: "/console/checkout/:id", name: "checkout", who: "user" },
    View: lazyPage(async () => {
      const { CheckoutPage } = await import("./account-pages.ts");
      return ({ params }: ViewProps) => <CheckoutPage id={params.id ?? ""} />;
    }),
  },
  {
    ...{ path: "/console/usage", name: "usage", who: "user", place: { group: "money", icon: ChartColumn } },
    shows: "accounts",
    View: lazyPage(async () => (await import("./account-pages.ts")).UsagePage),
  },
  {
    ...{
      path: "/console/operator/overview",
      name: "overview",
      who: "viewer",
      place: { group: "operator", icon: LayoutDashboard },
    },
    View: operatorPage(async () => (await import("./operator-pages.ts")).OverviewPage),
  },
  {
    ...{ path: "/console/operator/accounts", name: "accounts", who: "viewer", place: { group: "operator", icon: UsersRound } },
    View: operatorPage(async () => (await import("./operator-pages.ts")).AccountsView),
  },
  {
    ...{ path: "/console/operator/accounts/:id", name: "account", who: "viewer" },
    View: operatorPage(async () => {
      const { AccountPage } = await import("./operator-pages.ts");
      return ({ params }: ViewProps) => <AccountPage id={params.id ?? ""} />;
    }),
  },
  {
    ...{ path: "/console/operator/routes", name: "routes", who: "viewer", place: { group: "operator", icon: GitFork } },
    View: operatorPage(async () => (await import("./operator-pages.ts")).RoutesView),
  },
  {
    ...{
      path: "/console/operator/providers",
      name: "providers",
      who: "viewer",
      place: { group: "operator", icon: Plug },
    },
    View: operatorPage(async () => (await import("./operator-pages.ts")).ProvidersView),
  },
  {
    ...{ path: "/console/operator/orphans", name: "orphans", who: "viewer", place: { group: "operator", icon: Unlink } },
    View: operatorPage(async () => (await import("./operator-pages.ts")).OrphansView),
  },
  {
    ...{
      path: "/console/operator/verification",
      name: "verification",
      who: "viewer",
      place: { group: "operator", icon: ShieldCheck },
    },
    View: operatorPage(async () => (await import("./operator-pages.ts")).LedgerVerificationPage),
  },
  {
    ...{ path: "/console/operator/service", name: "service", who: "viewer", place: { group: "operator", icon: Activity } },
    View: operatorPage(async () => (await import("./operator-pages.ts")).ServicePage),
  },
  {
    ...{ path: "/console/profile", name: "profile", who: "user" },
    View: lazyPage(async () => (await import("./account-pages.ts")).ProfilePage),
  },
  {
    ...{ path: "/console/team", name: "team", who: "member" },
    View: lazyPage(async () => (await import("./account-pages.ts")).TeamPage),
  },
  {
    ...{ path: "/console/operator/users", name: "users", who: "viewer", place: { group: "operator", icon: Users } },
    View: lazyPage(async () => (await import("./operator-pages.ts")).UsersPage),
  },
  {
    ...{ path: "/console/operator/audit", name: "audit", who: "viewer", place: { group: "operator", icon: ScrollText } },
    View: operatorPage(async () => (await import("./operator-pages.ts")).AuditPage),
  },
  {
    ...{ path: "/console/components", name: "components", who: "viewer" },
    View: lazyPage(async () => (await import("./operator-pages.ts")).ComponentsPage),
  },
];
