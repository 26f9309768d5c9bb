// Layout of every page: skip link, navigation, user and page content.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { call, learnMe, me } from "./api.ts";
import { followLink } from "./links.ts";
import { ThemeSwitch } from "./theme.tsx";

/** An entry of the navigation; entries of one group are adjacent. */
export type NavigationEntry = { href: string; says: string; group: string };
type Props = {
  title: string;
  places: readonly NavigationEntry[];
  path: string;
  /** Shown in the header beside the user. */
  standing?: VNode | null;
  notice?: VNode | null;
  children: ComponentChildren;
};

const signOut = async (): Promise<void> => {
  await call("DELETE", "/console/api/session").catch(() => undefined);
  await learnMe();
};

/** The navigation entry of a path: the entry whose address is its longest prefix. */
const placeOf = (places: readonly NavigationEntry[], path: string): string | undefined =>
  places
    .map(({ href }) => href)
    .filter((href) => path === href || path.startsWith(`${href}/`))
    .sort((a, b) => b.length - a.length)[0];

const Navigation = ({ places, path }: Pick<Props, "places" | "path">): VNode => {
  const groups = [...new Set(places.map(({ group }) => group))];
  const here = placeOf(places, path);
  return (
    <nav id="places" aria-label="Pages">
      {groups.map((group) => (
        <div key={group} class="place-group">
          {group !== "" && <h2>{group}</h2>}
          <ul>
            {places
              .filter((place) => place.group === group)
              .map(({ href, says }) => (
                <li key={href}>
                  <a href={href} aria-current={href === here ? "page" : undefined}>
                    {says}
                  </a>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
};

export const Frame = ({ title, places, path, standing, notice, children }: Props): VNode => {
  const isOpen = useSignal(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const before = useRef(path);
  // After navigation the focus moves to the heading, for keyboards and screen readers.
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    isOpen.value = false;
    heading.current?.focus();
    window.scrollTo(0, 0);
  }, [path, isOpen]);
  // Registered before the page is painted, so that an immediate click is handled too.
  useLayoutEffect(() => {
    document.addEventListener("click", followLink);
    return () => document.removeEventListener("click", followLink);
  }, []);
  useEffect(() => {
    document.title = `${title} · genrouter`;
  }, [title]);
  const who = me.value?.signedIn;
  return (
    <div class={`frame${isOpen.value ? " is-open" : ""}`}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        {places.length > 0 && (
          <button
            type="button"
            class="button menu"
            aria-expanded={isOpen.value}
            aria-controls="places"
            onClick={() => {
              isOpen.value = !isOpen.value;
            }}
          >
            Menu
          </button>
        )}
        <a class="mark" href="/console">
          genrouter
        </a>
        {me.value?.simulated && <span class="badge">Simulator</span>}
        <span class="grows" />
        {standing}
        <ThemeSwitch />
        {who && (
          <>
            <a class="who" href="/console/profile">
              {who.email}
            </a>
            <button type="button" class="button" onClick={() => void signOut()}>
              Sign out
            </button>
          </>
        )}
      </header>
      {places.length > 0 && <Navigation places={places} path={path} />}
      <main id="main">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {notice}
        {children}
      </main>
    </div>
  );
};
