// The console application: the pages depend on the user and are loaded on demand.

import { signal } from "@preact/signals";
import { Workflow } from "lucide";
import { type ComponentProps, render, type VNode } from "preact";
import { useEffect } from "preact/hooks";
import { Redirect, useLocation, useSearch } from "wouter-preact";
import { errorText, learnMe, me } from "../components/api.ts";
import { Frame, type NavigationEntry } from "../components/layout.tsx";
import { usePalette } from "../components/use-palette.tsx";
import { loadConsoleWords, words } from "../words/console-words.ts";
import { loadWords } from "../words/language.ts";
import { AccountScope } from "./account-scope.tsx";
import { CreditsNotice } from "./credits/notices.tsx";
import { Balance, OwnCredits, useOwnCredits } from "./credits/use-balance.tsx";
import { Insecure } from "./insecure.tsx";
import { OPEN_PAGES, PAGES, type PageOf } from "./pages.tsx";

const unreachable = signal<string | null>(null);

type Found = { page: PageOf; params: Record<string, string> };

/** The page of a path; segments that start with `:` match any value. */
const findPage = (pages: readonly PageOf[], path: string): Found | undefined => {
  const sent = path.split("/");
  for (const page of pages) {
    const parts = page.path.split("/");
    if (parts.length !== sent.length || !parts.every((part, at) => part.startsWith(":") || part === sent[at])) continue;
    const named = parts.flatMap((part, at) =>
      part.startsWith(":") ? [[part.slice(1), decodeURIComponent(sent[at] ?? "")]] : [],
    );
    return { page, params: Object.fromEntries(named) as Record<string, string> };
  }
  return undefined;
};

/** Layout of a signed-in user, with the balance and notices that every page shows. */
const OwnFrame = ({ hasAccount, notice, places, ...frame }: ComponentProps<typeof Frame> & { hasAccount: boolean }): VNode => {
  const own = useOwnCredits(hasAccount, frame.path);
  const { value: credits } = own;
  const isShownThere = frame.path.startsWith("/console/credits");
  const palette = usePalette(places);
  return (
    <OwnCredits.Provider value={hasAccount ? own : null}>
      <Frame
        {...frame}
        places={places}
        search={palette.open}
        standing={credits ? <Balance credits={credits} /> : null}
        notice={
          <>
            {notice}
            {credits && !isShownThere && <CreditsNotice credits={credits} />}
          </>
        }
      />
      {palette.dialog}
    </OwnCredits.Provider>
  );
};

const GROUPS = ["create", "develop", "money", "operator"] as const;
/** The inspector is an application of its own, so it is no page of the console. */
const inspectorPlace = (): NavigationEntry => ({
  href: "/inspector",
  label: words.frame.inspector,
  group: words.groups.operator,
  icon: Workflow,
});
/** The navigation; the group of operators is the last one. */
const placesOf = (pages: readonly PageOf[], hasInspector: boolean): NavigationEntry[] => [
  ...GROUPS.flatMap((group) =>
    pages.flatMap(({ path, name, place }) =>
      place?.group === group ? [{ href: path, label: words.pages[name], group: words.groups[group], icon: place.icon }] : [],
    ),
  ),
  ...(hasInspector ? [inspectorPlace()] : []),
];

const Console = (): VNode => {
  const [path] = useLocation();
  const account = new URLSearchParams(useSearch()).get("account");
  const known = me.value;
  if (!isSecureContext)
    return (
      <Frame title={words.insecure.title} places={[]} path={path}>
        <Insecure />
      </Frame>
    );
  if (unreachable.value !== null && known === undefined)
    return (
      <Frame title={words.frame.unavailable} places={[]} path={path}>
        <p class="notice is-bad" role="alert">
          {unreachable.value}
        </p>
      </Frame>
    );
  if (known === undefined)
    return (
      <p class="opening" aria-busy="true">
        {words.frame.loading}
      </p>
    );
  const open = findPage(OPEN_PAGES, path);
  if (open && !(known.signedIn && open.page.path === "/console/sign-in")) {
    const { View, name } = open.page;
    return (
      <Frame title={words.pages[name]} places={[]} path={path} isCard>
        <View params={open.params} account={null} />
      </Frame>
    );
  }
  const who = known.signedIn;
  if (!who) return <Redirect to={`/console/sign-in?to=${encodeURIComponent(path + location.search)}`} replace />;
  const mine = PAGES.filter(({ who: needed }) =>
    needed === "member" ? who.accountId !== null : needed === "viewer" ? who.role !== "member" : true,
  );
  const found = findPage(mine, path);
  if (path === "/console" || path === "/console/sign-in") {
    const to = new URLSearchParams(location.search).get("to");
    const home = who.accountId === null ? "/console/operator/accounts" : "/console/generations";
    return <Redirect to={to?.startsWith("/console/") && !to.startsWith("/console/sign-in") ? to : home} replace />;
  }
  const frame = { places: placesOf(mine, known.inspector), path, hasAccount: who.accountId !== null };
  if (!found)
    return (
      <OwnFrame {...frame} title={words.frame.notFound}>
        <p>{words.frame.notFoundAbout}</p>
      </OwnFrame>
    );
  const { View, name, shows } = found.page;
  const whose = shows ? <AccountScope account={account} isOfAll={shows === "accounts"} /> : null;
  return (
    <OwnFrame {...frame} title={words.pages[name]} notice={whose}>
      <View key={path} params={found.params} account={account} />
    </OwnFrame>
  );
};

const Root = (): VNode => {
  useEffect(() => {
    learnMe().catch((fault: unknown) => {
      unreachable.value = errorText(fault);
    });
  }, []);
  return <Console />;
};

// The code of the page is loaded beside the answer to who is signed in.
void findPage([...OPEN_PAGES, ...PAGES], location.pathname)?.page.View.preload();
await loadWords(loadConsoleWords);
const place = document.getElementById("page");
if (place) render(<Root />, place);
