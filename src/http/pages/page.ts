// Shared parts of the HTML pages: security headers and the document frame.
import { signAnswer } from "../response.ts";
import { assetPath } from "./assets.ts";

/** Allowed sources of a page by CSP directive. Sources that are not listed are forbidden. */
export type Sources = Readonly<Record<string, string>>;

const CLOSED: Sources = {
  "default-src": "'none'",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
  "img-src": "'self' data:",
  "style-src": "'self'",
};
const DAY_S = 86_400;

/** An HTML response. @param more sources in addition to the service's own styles and images. */
export const answerPage = (html: string, requestId: string, isBehindTls: boolean, more: Sources = {}, status = 200): Response => {
  const policy = Object.entries({ ...CLOSED, ...more }).map(([name, sources]) => `${name} ${sources}`);
  const headers = new Headers({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "public, max-age=300",
    "content-security-policy": policy.join("; "),
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
  });
  if (isBehindTls) headers.set("strict-transport-security", `max-age=${365 * DAY_S}`);
  return signAnswer(new Response(html, { status, headers }), requestId);
};

/** Escapes text for HTML. */
export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** A complete HTML document. `head` and `body` are HTML. */
export const htmlDocument = (title: string, head: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" type="image/svg+xml" href="${assetPath("favicon.svg")}">
${head}
</head>
<body>
${body}
</body>
</html>
`;
