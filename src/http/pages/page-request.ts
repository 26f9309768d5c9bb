// Recognizes the requests of a browser that opens a page.
import { urlOf } from "../client-address.ts";

/** True if the client is a browser that accepts HTML. */
export const wantsPage = (request: Request): boolean => /\btext\/html\b/i.test(request.headers.get("accept") ?? "");

export const isRead = (method: string): boolean => method === "GET" || method === "HEAD";

const isApi = (pathname: string): boolean => pathname === "/v1" || pathname.startsWith("/v1/");

/** True if a browser opens a page with this request. A path below /v1 is no page for any client. */
export const opensPage = (request: Request): boolean =>
  isRead(request.method) && wantsPage(request) && !isApi(urlOf(request).pathname);
