// Renders the guides of docs/guides as HTML pages under /docs/guides.
import { ApiError } from "../../domain/api-errors.ts";
import { assetPath } from "./assets.ts";
import { type DocsSite, docsPage, renderedOnce } from "./docs-page.ts";
import { GUIDES, titleOf } from "./guide-texts.ts";
import { answerPage } from "./page.ts";

/** Names are file names in the repository and paths in the service. A wide table or program scrolls, and the keyboard reaches it. */
const htmlOf = (markdown: string): string =>
  Bun.markdown
    .html(markdown, { headings: { ids: true } })
    .replaceAll(/href="([a-z-]+)\.md(#[^"]*)?"/g, 'href="/docs/guides/$1$2"')
    .replaceAll('href="../interface.md#7-errors"', 'href="/docs/errors"')
    .replaceAll("<pre>", '<pre tabindex="0">')
    .replaceAll("<table>", '<div class="wide" tabindex="0"><table>')
    .replaceAll("</table>", "</table></div>");

/** Fields whose values replace the placeholders in the programs of the page. They stay in the browser. */
const READER = `<form class="reader" autocomplete="off">
<p>The programs below use these values. They stay in this page and are not sent.</p>
<label>Service <input id="reader-url" type="url" spellcheck="false"></label>
<label>API key <input id="reader-key" type="password" placeholder="gr_…" spellcheck="false"></label>
</form>`;

const render = (name: string, markdown: string, site: DocsSite): string =>
  docsPage(
    {
      title: `${titleOf(markdown)} – genrouter`,
      path: `/docs/guides/${name}`,
      head: `<link rel="stylesheet" href="${assetPath("guides.css")}">`,
      skip: { text: "Skip to the guide", to: "guide" },
      body: `<div class="page">
<main id="guide">
${htmlOf(markdown).replace("</h1>", `</h1>\n${READER}`)}
</main>
</div>
<script src="${assetPath("guides.js")}"></script>`,
    },
    site,
  );

const pages = new Map(
  Object.entries(GUIDES).map(([name, markdown]) => [name, renderedOnce((site) => render(name, markdown, site))] as const),
);

/** @throws ApiError `not_found` */
export const guidePage = (name: string, requestId: string, site: DocsSite): Response => {
  const page = pages.get(name);
  if (page === undefined)
    throw new ApiError("not_found", `No such guide; there are ${Object.keys(GUIDES).join(", ")} under /docs/guides.`);
  return answerPage(page(site), requestId, site.isBehindTls, { "script-src": "'self'" });
};
