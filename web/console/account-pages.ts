// Pages of keys, webhooks, money and the own account, as one script.
export { CheckoutPage } from "./credits/checkout.tsx";
export { CreditsPage } from "./credits/credits.tsx";
export { LedgerPage } from "./credits/ledger.tsx";
export { ReceiptPage } from "./credits/receipt.tsx";
export { KeysView } from "./keys.tsx";
export { UsagePage } from "./usage.tsx";
export { ProfilePage } from "./users/profile.tsx";
export { TeamPage } from "./users/team.tsx";
export { WebhooksView } from "./webhooks/webhooks-page.tsx";
