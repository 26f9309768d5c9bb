// Follows links within one application without reloading; the browser loads other links.
import { navigate } from "wouter-preact/use-browser-location";

/** The application of a path: `console` or `inspector`. */
const applicationOf = (path: string): string => path.split("/")[1] ?? "";
/** True if the application of this page shows the path. */
const isOwnPath = (path: string): boolean => applicationOf(path) === applicationOf(location.pathname);

/** Opens a path of the service as a link to it does. */
export const openPath = (href: string): void => {
  if (isOwnPath(href)) navigate(href);
  else location.assign(href);
};

/** Click handler of the element that contains all links of a page. */
export const followLink = (event: MouseEvent): void => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link?.hasAttribute("href") || link.target !== "" || link.hasAttribute("download")) return;
  const { origin, pathname, search, hash } = link;
  const isPage = origin === location.origin && isOwnPath(pathname);
  if (!isPage || hash !== "" || pathname.split("/")[2] === "api") return;
  event.preventDefault();
  navigate(pathname + search);
};
