// Layout of every page: navigation, header with search, balance and user menu, and the content of the page.
import { useSignal } from "@preact/signals";
import { BookOpen, type IconNode, Menu as MenuIcon, Search } from "lucide";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { words } from "../words/words.ts";
import { me } from "./api.ts";
import { Brand } from "./brand.tsx";
import { ConnectionBanner } from "./connection.tsx";
import { wentBack } from "./going-back.ts";
import { Icon } from "./icon.tsx";
import { followLink } from "./links.ts";
import { shortcutText } from "./shortcut.ts";
import { ownTitle } from "./title.ts";
import { Toasts } from "./toast.tsx";
import { UserMenu } from "./user-menu.tsx";

/** An entry of the navigation; entries of one group are adjacent. */
export type NavigationEntry = { href: string; label: string; group: string; icon: IconNode };
type Props = {
  title: string;
  places: readonly NavigationEntry[];
  path: string;
  /** Shown in the header beside the user menu. */
  standing?: VNode | null;
  /** Opens the search over pages, models and ids; absent where there is none. */
  search?: () => void;
  notice?: VNode | null;
  /** The page is one card in the middle, for visitors who are not signed in. */
  isCard?: boolean;
  children: ComponentChildren;
};

/** The navigation entry of a path: the entry whose address is its longest prefix. */
const placeOf = (places: readonly NavigationEntry[], path: string): string | undefined =>
  places
    .map(({ href }) => href)
    .filter((href) => path === href || path.startsWith(`${href}/`))
    .sort((a, b) => b.length - a.length)[0];

const Entry = ({ entry, isHere }: { entry: NavigationEntry; isHere: boolean }): VNode => (
  <li>
    <a href={entry.href} aria-current={isHere ? "page" : undefined}>
      <Icon of={entry.icon} />
      {entry.label}
    </a>
  </li>
);

const Navigation = ({ places, path }: Pick<Props, "places" | "path">): VNode => {
  const groups = [...new Set(places.map(({ group }) => group))];
  const here = placeOf(places, path);
  return (
    <nav id="places" aria-label={words.frame.pages}>
      {groups.map((group) => (
        <div key={group} class="place-group">
          {group !== "" && <h2>{group}</h2>}
          <ul>
            {places
              .filter((place) => place.group === group)
              .map((entry) => (
                <Entry key={entry.href} entry={entry} isHere={entry.href === here} />
              ))}
          </ul>
        </div>
      ))}
      <ul class="place-group">
        <li>
          <a href="/docs">
            <Icon of={BookOpen} />
            {words.frame.documentation}
          </a>
        </li>
      </ul>
    </nav>
  );
};

const SearchButton = ({ search }: { search: () => void }): VNode => (
  <button type="button" class="button is-search" onClick={search}>
    <Icon of={Search} size={16} />
    <span>{words.frame.search}</span>
    <kbd>{shortcutText("K")}</kbd>
  </button>
);

/** Moves the focus to the heading after navigation, for keyboards and screen readers. */
const useHeading = (path: string, onChange: () => void) => {
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    onChange();
    heading.current?.focus({ preventScroll: true });
    if (!wentBack()) window.scrollTo(0, 0);
  }, [path, onChange]);
  return heading;
};

export const Frame = ({ title, places, path, standing, search, notice, children, isCard = false }: Props): VNode => {
  const isOpen = useSignal(false);
  const heading = useHeading(path, () => {
    isOpen.value = false;
  });
  // Registered before the page is painted, so that an immediate click is handled too.
  useLayoutEffect(() => {
    document.addEventListener("click", followLink);
    return () => document.removeEventListener("click", followLink);
  }, []);
  const shown = ownTitle.value ?? title;
  // In the commit that changes the heading: the two are never seen with different names.
  useLayoutEffect(() => {
    document.title = words.frame.titleOf(shown);
  }, [shown]);
  return (
    <div class={`frame${isOpen.value ? " is-open" : ""}${isCard ? " is-card" : ""}`}>
      <a class="skip" href="#main">
        {words.frame.skip}
      </a>
      <header class="top">
        {places.length > 0 && (
          <button
            type="button"
            class="button is-quiet is-icon menu-button"
            aria-label={words.frame.menu}
            aria-expanded={isOpen.value}
            aria-controls="places"
            onClick={() => {
              isOpen.value = !isOpen.value;
            }}
          >
            <Icon of={MenuIcon} />
          </button>
        )}
        <Brand />
        {me.value?.simulated && (
          <span class="badge" title={words.frame.simulatorAbout}>
            {words.frame.simulator}
          </span>
        )}
        <span class="grows" />
        {search && <SearchButton search={search} />}
        {standing}
        <UserMenu />
      </header>
      {places.length > 0 && <Navigation places={places} path={path} />}
      <main id="main">
        <ConnectionBanner />
        <h1 ref={heading} tabIndex={-1}>
          {shown}
        </h1>
        {notice}
        {children}
      </main>
      <Toasts />
    </div>
  );
};
