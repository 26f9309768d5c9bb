// Renders the error catalogue /docs/errors: cause and remedy of every code, without scripts.
import { API_ERRORS, type ApiErrorCode } from "../../domain/api-errors.ts";
import { GENERATION_ERROR_CODES } from "../../domain/types.ts";
import { type DocsSite, docsPage, renderedOnce } from "./docs-page.ts";
import { FAILURES, REMEDIES } from "./error-remedies.ts";
import { answerPage, escaped } from "./page.ts";

/** Converts plain sentences with names in backticks to HTML. */
const prose = (text: string): string => escaped(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");

const entry = (
  code: string,
  facts: readonly (readonly [string, string])[],
): string => `<section id="${code}" aria-labelledby="${code}-name">
<h3 id="${code}-name"><a href="#${code}"><code>${code}</code></a></h3>
<dl>
${facts.map(([name, text]) => `<dt>${name}</dt><dd>${prose(text)}</dd>`).join("\n")}
</dl>
</section>`;

const refusal = (code: ApiErrorCode): string => {
  const rule = API_ERRORS[code];
  const wait = "retryAfterS" in rule ? [["Retry-After", `usually ${rule.retryAfterS} s`] as const] : [];
  return entry(code, [["Status", String(rule.status)], ["When", rule.when], ["What to do", REMEDIES[code]], ...wait]);
};

const list = (codes: readonly string[]): string =>
  `<ul>\n${codes.map((code) => `<li><a href="#${code}"><code>${code}</code></a></li>`).join("\n")}\n</ul>`;

const body = (): string => {
  const codes = Object.keys(API_ERRORS) as ApiErrorCode[];
  const failures = GENERATION_ERROR_CODES.map((code) =>
    entry(code, [
      ["When", FAILURES[code].when],
      ["What to do", FAILURES[code].remedy],
      ["Charged", "nothing"],
    ]),
  );
  return `<div class="page">
<h1>API errors</h1>
<p>Every error response has the body <code>{"error":{"code","message"}}</code>. The message names the field and what is allowed. Each response
has an <code>X-Request-Id</code> for reports to the operator.</p>
<nav class="codes" aria-label="Codes">
<h2>Error responses</h2>
${list(codes)}
<h2>Failed generations</h2>
${list(GENERATION_ERROR_CODES)}
</nav>
<main id="list">
<h2 id="answers">Error responses</h2>
<p>The errors are in order of precedence. If several apply, the first in this list is returned. A rejected request is not charged, and its
<code>Idempotency-Key</code> can be used again. <code>concurrency_limit</code> and <code>insufficient_credits</code> are checked before
media links are opened, so they precede errors of the linked files.</p>
${codes.map(refusal).join("\n")}
<h2 id="failed">Failed generations</h2>
<p>A generation whose <code>status</code> is <code>failed</code> has one of these codes in <code>error.code</code>. A poll of it returns status 200.</p>
${failures.join("\n")}
</main>
</div>`;
};

const pageOf = renderedOnce((site) => {
  const skip = { text: "Skip to the errors", to: "list" };
  return docsPage({ title: "API errors – genrouter", path: "/docs/errors", skip, body: body() }, site);
});

export const errorsPage = (requestId: string, site: DocsSite): Response => answerPage(pageOf(site), requestId, site.isBehindTls);
