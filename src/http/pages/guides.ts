// Renders the guides of docs/guides as HTML pages under /docs/guides.
import filesGuide from "../../../docs/guides/files.md" with { type: "text" };
import limitsGuide from "../../../docs/guides/limits.md" with { type: "text" };
import quickStartGuide from "../../../docs/guides/quick-start.md" with { type: "text" };
import waitingGuide from "../../../docs/guides/waiting.md" with { type: "text" };
import webhooksGuide from "../../../docs/guides/webhooks.md" with { type: "text" };
import { ApiError } from "../../domain/api-errors.ts";
import { assetPath } from "./assets.ts";
import { answerPage, escaped, htmlDocument } from "./page.ts";

/** Markdown of each guide, in reading order. */
export const GUIDES: Readonly<Record<string, string>> = {
  "quick-start": quickStartGuide,
  files: filesGuide,
  waiting: waitingGuide,
  webhooks: webhooksGuide,
  limits: limitsGuide,
};

export const titleOf = (markdown: string): string => /^# (.+)$/m.exec(markdown)?.[1] ?? "";

/** Links of the guides, as list items. @param open the guide that is shown; null for none */
export const guideLinks = (open: string | null): string =>
  Object.entries(GUIDES)
    .map(([name, text]) => {
      const current = name === open ? ' aria-current="page"' : "";
      return `<li><a href="/docs/guides/${name}"${current}>${escaped(titleOf(text))}</a></li>`;
    })
    .join("\n");

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

const render = (name: string, markdown: string): string =>
  htmlDocument(
    `${titleOf(markdown)} – genrouter`,
    `<link rel="stylesheet" href="${assetPath("errors.css")}">
<link rel="stylesheet" href="${assetPath("guides.css")}">`,
    `<a class="skip" href="#guide">Skip to the guide</a>
<nav aria-label="Documentation">
<ul>
${guideLinks(name)}
<li><a href="/docs/errors">Errors</a></li>
<li><a href="/docs">API reference</a></li>
</ul>
</nav>
<main id="guide">
${htmlOf(markdown).replace("</h1>", `</h1>\n${READER}`)}
</main>
<script src="${assetPath("guides.js")}"></script>`,
  );

const rendered = new Map<string, string>();

/** @throws ApiError `not_found` */
export const guidePage = (name: string, requestId: string, isBehindTls: boolean): Response => {
  const markdown = Object.hasOwn(GUIDES, name) ? GUIDES[name] : undefined;
  if (markdown === undefined)
    throw new ApiError("not_found", `No such guide; there are ${Object.keys(GUIDES).join(", ")} under /docs/guides.`);
  const html = rendered.get(name) ?? render(name, markdown);
  rendered.set(name, html);
  return answerPage(html, requestId, isBehindTls, { "script-src": "'self'" });
};
