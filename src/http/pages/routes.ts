// The pages for people, outside /v1: their paths. What they show is loaded and printed when the first one asks, so that a start pays nothing.
import { ApiError } from "../../domain/api-errors.ts";
import type { Answer } from "../response.ts";

const reference = () => import("./reference.ts");
const catalogue = () => import("./errors-page.ts");
const assets = () => import("./assets.ts");
const summary = () => import("./llms.ts");
const web = () => import("./spa-shell.ts");

/** Whether the caller is a browser that a page can be shown to. */
const wantsPage = (request: Request): boolean => /\btext\/html\b/i.test(request.headers.get("accept") ?? "");

/** `/`: people are shown to the console, or to the reference where there is none; programs get the 404 that they would get without it. */
const frontDoor =
  (to: string): Answer =>
  (request, requestId) => {
    if (!wantsPage(request)) throw new ApiError("not_found", "No such path; see /openapi.json for those there are.");
    return new Response(null, { status: 302, headers: { location: to, vary: "Accept", "x-request-id": requestId } });
  };

/** Which of the pages for people are there. */
export type PagesOpen = { console: boolean; inspector: boolean };

const framed = (name: "console" | "inspector", isBehindTls: boolean): { path: string; answer: Answer }[] => {
  const answer: Answer = async (_, requestId) => (await web()).webPage(name, requestId, isBehindTls);
  return [
    { path: `/${name}`, answer },
    { path: `/${name}/*`, answer },
  ];
};

/** Paths and answers; `isBehindTls` is whether clients reach the service over https. */
export const pagesOf = (isBehindTls: boolean, open: PagesOpen): readonly { path: string; answer: Answer }[] => [
  { path: "/", answer: frontDoor(open.console ? "/console" : "/docs") },
  ...(open.console ? framed("console", isBehindTls) : []),
  ...(open.inspector ? framed("inspector", isBehindTls) : []),
  {
    path: "/assets/:name",
    answer: async (request, requestId, { name = "" }) => (await web()).webAsset(request, requestId, name),
  },
  { path: "/docs", answer: async (_, requestId) => (await reference()).referencePage(requestId, isBehindTls) },
  { path: "/docs/errors", answer: async (_, requestId) => (await catalogue()).errorsPage(requestId, isBehindTls) },
  {
    path: "/docs/assets/:name",
    answer: async (request, requestId, { name = "" }) => (await assets()).answerAsset(request, requestId, name),
  },
  { path: "/llms.txt", answer: async (_, requestId) => (await summary()).llmsText(requestId) },
];
