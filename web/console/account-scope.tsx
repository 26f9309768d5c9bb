// Header line that names the viewed account, for operators and viewers.
import type { VNode } from "preact";
import type { AccountView } from "../../src/console/operator-dto.ts";
import { me } from "../components/api.ts";
import { useQuery } from "../components/use-query.ts";

/** Maximum number of users named; an account may have many. */
const NAMED = 3;
const PAGES = [
  ["generations", "Generations"],
  ["files", "Files"],
  ["keys", "Keys"],
  ["webhooks", "Webhooks"],
  ["credits", "Credits"],
  ["ledger", "Ledger"],
  ["usage", "Usage"],
] as const;

const usersText = (users: readonly string[]): string => {
  if (users.length === 0) return ", which has no users";
  const more = users.length - NAMED;
  return ` of ${users.slice(0, NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
};

const Another = ({ account }: { account: string }): VNode => {
  const { value } = useQuery<AccountView>(`/console/api/operator/accounts/${encodeURIComponent(account)}`);
  return (
    <div class="notice is-warn whose" role="note" aria-label="Account of this page">
      <p>
        This page shows another account:{" "}
        <a href={`/console/operator/accounts/${encodeURIComponent(account)}`}>{value?.name || account}</a> <code>{account}</code>
        {value && usersText(value.users)}
        {value?.paused && " (paused)"}.
      </p>
      <p class="links">
        {PAGES.map(([name, says]) => (
          <a key={name} href={`/console/${name}?account=${encodeURIComponent(account)}`}>
            {says}
          </a>
        ))}
      </p>
    </div>
  );
};

/** @param account null: the user's own account @param isOfAll true if the page shows all accounts to users without an account */
export const AccountScope = ({ account, isOfAll = false }: { account: string | null; isOfAll?: boolean }): VNode | null => {
  const who = me.value?.signedIn;
  if (!who || who.role === "member") return null;
  const named = isOfAll && account === "*" ? null : (account ?? who.accountId);
  if (named !== null) return named === who.accountId ? null : <Another key={named} account={named} />;
  return isOfAll ? (
    <p class="notice is-warn whose" role="note" aria-label="Account of this page">
      This page shows all accounts.
    </p>
  ) : null;
};
