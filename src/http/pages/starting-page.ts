// Renders the page that a browser receives while the service starts; it reloads until the service answers.
import { API_ERRORS } from "../../domain/api-errors.ts";
import { assetPath } from "./assets.ts";
import { BRAND } from "./docs-page.ts";
import { answerPage, escaped, htmlDocument } from "./page.ts";

const { status, retryAfterS } = API_ERRORS.restarting;

const bodyOf = (reason: string | null): string => `<header class="site"><span class="site-brand">${BRAND}</span></header>
<div class="page">
<main>
<h1>The service is starting</h1>
${reason === null ? "" : `<p>The start waits: ${escaped(reason)}.</p>\n`}<p>This page reloads every ${retryAfterS} seconds until the service is ready.</p>
</main>
</div>`;

/** @param reason what the start waits for, as /readyz reports it; null if it waits for nothing */
export const startingPage = (reason: string | null, requestId: string, isBehindTls: boolean): Response => {
  const head = `<meta http-equiv="refresh" content="${retryAfterS}">
<link rel="stylesheet" href="${assetPath("docs.css")}">`;
  const page = htmlDocument("Starting – genrouter", head, bodyOf(reason));
  const response = answerPage(page, requestId, isBehindTls, {}, status);
  response.headers.set("cache-control", "no-store");
  response.headers.set("retry-after", String(retryAfterS));
  response.headers.set("vary", "Accept");
  return response;
};
