// Renders the API reference page: Scalar for /openapi.json, served entirely by this service.
//
// Scalar provides samples, search and request execution, which smaller viewers do not have. It is a large script, so the page
// contains the reference as plain HTML until the script has loaded.
import { assetPath } from "./assets.ts";
import { type DocsSite, docsPage, renderedOnce } from "./docs-page.ts";
import { answerPage } from "./page.ts";
import { staticReference } from "./static-reference.ts";

/** Sources that Scalar needs in addition to those of every page. */
const SOURCES = {
  "script-src": "'self'",
  // Scalar inserts its own style into the page.
  "style-src": "'self' 'unsafe-inline'",
  "connect-src": "'self'",
  // Responses of executed requests are shown from memory.
  "img-src": "'self' data: blob:",
  "media-src": "'self' blob:",
};

const SCRIPTS = (["before.js", "scalar.js", "reference.js"] as const)
  .map((name) => `<script defer src="${assetPath(name)}"></script>`)
  .join("\n");
const pageOf = renderedOnce((site) =>
  docsPage(
    {
      title: "API reference – genrouter",
      path: "/docs",
      head: `<link rel="stylesheet" href="${assetPath("reference.css")}">`,
      skip: { text: "Skip to the reference", to: "reference" },
      body: `<div id="reference"></div>
${staticReference()}
${SCRIPTS}`,
    },
    site,
  ),
);

export const referencePage = (requestId: string, site: DocsSite): Response =>
  answerPage(pageOf(site), requestId, site.isBehindTls, SOURCES);
