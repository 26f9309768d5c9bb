// Endpoints of the HTML pages outside /v1; page content is loaded on first use.
//
// A start therefore loads and renders no page.
import { ApiError } from "../../domain/api-errors.ts";
import type { Answer } from "../response.ts";

const reference = () => import("./reference.ts");
const guides = () => import("./guides.ts");
const catalogue = () => import("./errors-page.ts");
const assets = () => import("./assets.ts");
const summary = () => import("./llms.ts");
const web = () => import("./spa-shell.ts");

/** True if the client is a browser that accepts HTML. */
const wantsPage = (request: Request): boolean => /\btext\/html\b/i.test(request.headers.get("accept") ?? "");

/** `/` redirects browsers to the console, or to the reference if the console is off. Other clients get the usual 404. */
const redirectTo =
  (to: string): Answer =>
  (request, requestId) => {
    if (!wantsPage(request)) throw new ApiError("not_found", "No such path; see /openapi.json for those there are.");
    return new Response(null, { status: 302, headers: { location: to, vary: "Accept", "x-request-id": requestId } });
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

/** Paths and responses; `isBehindTls` is true if clients reach the service over https. */
export const pagesOf = (isBehindTls: boolean, open: PagesOpen): readonly { path: string; answer: Answer }[] => [
  { path: "/", answer: redirectTo(open.console ? "/console" : "/docs") },
  ...(open.console ? framed("console", isBehindTls) : []),
  ...(open.inspector ? framed("inspector", isBehindTls) : []),
  {
    path: "/assets/:name",
    answer: async (request, requestId, { name = "" }) => (await web()).webAsset(request, requestId, name),
  },
  { path: "/docs", answer: async (_, requestId) => (await reference()).referencePage(requestId, isBehindTls) },
  {
    path: "/docs/guides/:name",
    answer: async (_, requestId, { name = "" }) => (await guides()).guidePage(name, requestId, isBehindTls),
  },
  { path: "/docs/errors", answer: async (_, requestId) => (await catalogue()).errorsPage(requestId, isBehindTls) },
  {
    path: "/docs/assets/:name",
    answer: async (request, requestId, { name = "" }) => (await assets()).answerAsset(request, requestId, name),
  },
  { path: "/llms.txt", answer: async (_, requestId) => (await summary()).llmsText(requestId) },
];
