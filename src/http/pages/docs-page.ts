// The frame of every documentation page: header with the pages of the documentation and the way back to the console.
import { assetPath } from "./assets.ts";
import { GUIDES, titleOf } from "./guide-texts.ts";
import { escaped, htmlDocument } from "./page.ts";

/** Title and path of each page, the quick start first. */
const PLACES: readonly { path: string; title: string }[] = [
  ...Object.entries(GUIDES).map(([name, text]) => ({ path: `/docs/guides/${name}`, title: titleOf(text) })),
  { path: "/docs/errors", title: "Errors" },
  { path: "/docs", title: "API reference" },
];

/** The drawing of web/components/brand.tsx. */
const MARK = `<svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
<rect width="32" height="32" rx="8" fill="var(--accent)"/>
<g fill="none" stroke="var(--on-accent)" stroke-width="2.5" stroke-linecap="round">
<path d="M8 16h4c4 0 4-7 8-7h3M8 16h4c4 0 4 7 8 7h3" opacity=".5"/><path d="M8 16h15"/></g>
<circle cx="23" cy="16" r="3" fill="var(--on-accent)"/></svg>`;
/** Mark and name of the product. */
export const BRAND = `${MARK}<span>genrouter</span>`;

/** What a page depends on besides its content. */
export type DocsSite = {
  /** True if the service has the console. */
  hasConsole: boolean;
  isBehindTls: boolean;
};

const headerOf = (path: string | null, { hasConsole }: DocsSite): string => `<header class="site">
<a class="site-brand" href="/docs/guides/quick-start">${BRAND}</a>
<nav aria-label="Documentation">
<ul>
${PLACES.map((place) => {
  const current = place.path === path ? ' aria-current="page"' : "";
  return `<li><a href="${place.path}"${current}>${escaped(place.title)}</a></li>`;
}).join("\n")}
</ul>
</nav>
${hasConsole ? '<a class="site-console" href="/console">Console</a>' : ""}
</header>`;

type Content = {
  title: string;
  /** The page in the header; null for a page that it does not list. */
  path: string | null;
  /** Further styles and scripts of the page. */
  head?: string;
  /** Text of the link that skips the header, and the id where it leads. */
  skip: { text: string; to: string };
  body: string;
};

/** The HTML of a documentation page. */
export const docsPage = ({ title, path, head = "", skip, body }: Content, site: DocsSite): string =>
  htmlDocument(
    title,
    `<link rel="stylesheet" href="${assetPath("docs.css")}">\n${head}`,
    `<a class="skip" href="#${skip.to}">${skip.text}</a>\n${headerOf(path, site)}\n${body}`,
  );

/** Renders a page on its first request, with and without the console. */
export const renderedOnce = (make: (site: DocsSite) => string): ((site: DocsSite) => string) => {
  const rendered = new Map<boolean, string>();
  return (site) => {
    const html = rendered.get(site.hasConsole) ?? make(site);
    rendered.set(site.hasConsole, html);
    return html;
  };
};
