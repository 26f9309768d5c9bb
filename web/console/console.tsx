// The console: who is signed in decides which pages there are; each page is loaded when it is gone to.

import { signal } from "@preact/signals";
import { render, type VNode } from "preact";
import { useEffect } from "preact/hooks";
import { Redirect, useLocation, useSearch } from "wouter-preact";
import type { CreditsView } from "../../src/console/credits-wire.ts";
import { learnMe, me, told } from "../parts/api.ts";
import { useAsked } from "../parts/asked.ts";
import { Frame, type Place } from "../parts/frame.tsx";
import { CreditsNotice } from "./credits/low.tsx";
import { OPEN_PAGES, PAGES, type PageOf } from "./pages.tsx";

const unreachable = signal<string | null>(null);

type Found = { page: PageOf; params: Record<string, string> };

/** The page of a path; parts that begin with `:` take any. */
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

/** What the account's people should know on every page. */
const LowNotice = (): VNode | null => {
  const { value } = useAsked<CreditsView>("/console/api/credits");
  return value ? <CreditsNotice credits={value} /> : null;
};

const placesOf = (pages: readonly PageOf[]): Place[] =>
  pages.flatMap(({ path, place }) => (place ? [{ href: path, ...place }] : []));

const Console = (): VNode => {
  const [path] = useLocation();
  const account = new URLSearchParams(useSearch()).get("account");
  const known = me.value;
  if (unreachable.value !== null && known === undefined)
    return (
      <Frame title="The console cannot be opened" places={[]} path={path}>
        <p class="notice is-bad" role="alert">
          {unreachable.value}
        </p>
      </Frame>
    );
  if (known === undefined)
    return (
      <p class="opening" aria-busy="true">
        Opening…
      </p>
    );
  const open = findPage(OPEN_PAGES, path);
  if (open && !(known.signedIn && open.page.path === "/console/sign-in")) {
    const { View, title } = open.page;
    return (
      <Frame title={title} places={[]} path={path}>
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
  const places = placesOf(mine);
  if (!found)
    return (
      <Frame title="There is no such page" places={places} path={path}>
        <p>Choose one from the menu.</p>
      </Frame>
    );
  const { View, title } = found.page;
  const isCredits = path.startsWith("/console/credits");
  return (
    <Frame
      title={title}
      places={places}
      path={path}
      notice={who.accountId !== null && !isCredits ? <LowNotice key={path} /> : null}
    >
      <View key={path} params={found.params} account={account} />
    </Frame>
  );
};

const Root = (): VNode => {
  useEffect(() => {
    learnMe().catch((fault: unknown) => {
      unreachable.value = told(fault);
    });
  }, []);
  return <Console />;
};

const place = document.getElementById("page");
if (place) render(<Root />, place);
