// Pages of operators, as one script.
export { ComponentsPage } from "./components-page.tsx";
export { AccountPage } from "./operator/account.tsx";
export { AccountsView } from "./operator/accounts.tsx";
export { LedgerVerificationPage } from "./operator/ledger-verification.tsx";
export { OrphansView } from "./operator/orphans.tsx";
export { OverviewPage } from "./operator/overview.tsx";
export { ProvidersView } from "./operator/providers.tsx";
export { RoutesView } from "./operator/routes.tsx";
export { ServicePage } from "./operator/service.tsx";
export { AuditPage } from "./users/audit.tsx";
export { UsersPage } from "./users/users.tsx";
