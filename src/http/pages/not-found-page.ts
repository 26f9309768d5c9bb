// Renders the page that a browser receives for an unknown path.
import { type DocsSite, docsPage } from "./docs-page.ts";
import { answerPage, escaped } from "./page.ts";

/** @param message what was not found */
export const notFoundPage = (message: string, requestId: string, site: DocsSite): Response => {
  const links = [
    ...(site.hasConsole ? ['<a href="/console">Console</a>'] : []),
    '<a href="/docs/guides/quick-start">Quick start</a>',
    '<a href="/docs">API reference</a>',
  ];
  const page = docsPage(
    {
      title: "Page not found – genrouter",
      path: null,
      skip: { text: "Skip to the message", to: "message" },
      body: `<div class="page">
<main id="message">
<h1>Page not found</h1>
<p>${escaped(message)}</p>
<p>${links.join(" · ")}</p>
</main>
</div>`,
    },
    site,
  );
  const response = answerPage(page, requestId, site.isBehindTls, {}, 404);
  response.headers.set("cache-control", "no-store");
  response.headers.set("vary", "Accept");
  return response;
};
