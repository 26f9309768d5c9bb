// Endpoints of the HTML pages outside /v1; page content is loaded on first use.
//
// A start therefore loads and renders no page.
import { ApiError, NO_SUCH_PATH } from "../../domain/api-errors.ts";
import { urlOf } from "../client-address.ts";
import { type Answer, signAnswer } from "../response.ts";
import type { DocsSite } from "./docs-page.ts";
import { isRead, opensPage, wantsPage } from "./page-request.ts";

const reference = () => import("./reference.ts");
const guides = () => import("./guides.ts");
const catalogue = () => import("./errors-page.ts");
const assets = () => import("./assets.ts");
const summary = () => import("./llms.ts");
const web = () => import("./spa-shell.ts");
const notFound = () => import("./not-found-page.ts");

/** What a person reads for an unknown path, above links to pages that exist. */
const NO_PAGE = "There is no page at this address.";

const redirect = (status: 302 | 308, headers: Record<string, string>, requestId: string): Response =>
  signAnswer(new Response(null, { status, headers }), requestId);

/** `/` redirects browsers to the console, or to the reference if the console is off. Other clients get the usual 404. */
const redirectTo =
  (to: string): Answer =>
  (request, requestId) => {
    if (!wantsPage(request)) throw new ApiError("not_found", NO_SUCH_PATH);
    return redirect(302, { location: to, vary: "Accept" }, requestId);
  };

/** Addresses that readers type, and the page that each of them means. */
const MOVED: Readonly<Record<string, string>> = {
  "/docs/": "/docs",
  "/docs/errors/": "/docs/errors",
  "/docs/guides": "/docs/guides/quick-start",
  "/docs/guides/": "/docs/guides/quick-start",
};

/** The HTML pages that are enabled. */
export type PagesOpen = { console: boolean; inspector: boolean };

const framed = (name: "console" | "inspector", isBehindTls: boolean): { path: string; answer: Answer }[] => {
  const answer: Answer = async (_, requestId) => (await web()).webPage(name, requestId, isBehindTls);
  return [
    { path: `/${name}`, answer },
    { path: `/${name}/*`, answer },
  ];
};

const siteOf = (isBehindTls: boolean, open: PagesOpen): DocsSite => ({ hasConsole: open.console, isBehindTls });

/** A browser reads a page for a `not_found` outside of the API; every other client reads the error as JSON. */
const orPage =
  (site: DocsSite, answer: Answer): Answer =>
  async (request, requestId, params) => {
    try {
      return await answer(request, requestId, params);
    } catch (fault) {
      if (!(fault instanceof ApiError) || fault.code !== "not_found" || !wantsPage(request)) throw fault;
      return (await notFound()).notFoundPage(fault.message, requestId, site);
    }
  };

/** The answer to an unknown path. Below /v1 it is the API error for every client. */
export const unknownPathOf = (isBehindTls: boolean, open: PagesOpen): Answer => {
  const site = siteOf(isBehindTls, open);
  return async (request, requestId) => {
    const to = isRead(request.method) ? MOVED[urlOf(request).pathname] : undefined;
    if (to !== undefined) return redirect(308, { location: to }, requestId);
    if (!opensPage(request)) throw new ApiError("not_found", NO_SUCH_PATH);
    return (await notFound()).notFoundPage(NO_PAGE, requestId, site);
  };
};

const docsOf = (site: DocsSite): { path: string; answer: Answer }[] => [
  { path: "/docs", answer: async (_, requestId) => (await reference()).referencePage(requestId, site) },
  {
    path: "/docs/guides/:name",
    answer: orPage(site, async (_, requestId, { name = "" }) => (await guides()).guidePage(name, requestId, site)),
  },
  { path: "/docs/errors", answer: async (_, requestId) => (await catalogue()).errorsPage(requestId, site) },
  {
    path: "/docs/assets/:name",
    answer: async (request, requestId, { name = "" }) => (await assets()).answerAsset(request, requestId, name),
  },
  { path: "/favicon.ico", answer: async (_, requestId) => (await assets()).answerIcon(requestId) },
];

/** Paths and responses; `isBehindTls` is true if clients reach the service over https. */
export const pagesOf = (isBehindTls: boolean, open: PagesOpen): readonly { path: string; answer: Answer }[] => [
  { path: "/", answer: redirectTo(open.console ? "/console" : "/docs") },
  ...(open.console ? framed("console", isBehindTls) : []),
  ...(open.inspector ? framed("inspector", isBehindTls) : []),
  {
    path: "/assets/:name",
    answer: async (request, requestId, { name = "" }) => (await web()).webAsset(request, requestId, name),
  },
  ...docsOf(siteOf(isBehindTls, open)),
  { path: "/llms.txt", answer: async (_, requestId) => (await summary()).llmsText(requestId) },
];
