// The pages of keys and usage by themselves: bundled in memory and served under the policy of the console, for the browser's tests.
import { basename, join } from "node:path";

const WEB = join(import.meta.dir, "../../web/console");
const ENTRY = `
import { h, render } from "preact";
const send = async (method, path, body) => {
  const answer = await fetch(path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error.message);
  return told;
};
const place = document.getElementById("page");
const pages = {
  "/console/keys": async () => h((await import("${WEB}/keys.tsx")).KeysView, { send, account: null }),
  "/console/usage": async () => h((await import("${WEB}/usage.tsx")).UsageView, { send, account: null, byAccount: true }),
};
pages[location.pathname]().then((page) => render(page, place));
`;

/** What every page of the console has. */
const BASE =
  "body { margin: 0; padding: 1rem; font-family: system-ui; background: Canvas; color: CanvasText } a { color: inherit }";

/** Makes them once. @returns what answers their paths. */
export const bundlePages = async () => {
  const { outputs } = await Bun.build({
    entrypoints: [join(WEB, "pages-alone.tsx")],
    files: { [join(WEB, "pages-alone.tsx")]: ENTRY },
    ...{ target: "browser", splitting: true, minify: true, naming: "[name]-[hash].[ext]" },
  });
  const assets = new Map(outputs.map((one) => [`/assets/${basename(one.path)}`, one]));
  const named = (pattern: RegExp) => [...assets.keys()].filter((path) => pattern.test(path));
  const shell = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Console</title>
    <meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
    <link rel="stylesheet" href="/base.css">${named(/\.css$/)
      .map((path) => `<link rel="stylesheet" href="${path}">`)
      .join("")}
    <script type="module" src="${named(/pages-alone-.*\.js$/)[0]}"></script></head>
    <body><main><h1>Console</h1><div id="page"></div></main></body></html>`;
  return async (path: string): Promise<Response> => {
    const asset = assets.get(path);
    if (asset) return new Response(asset);
    if (path === "/base.css") return new Response(BASE, { headers: { "content-type": "text/css" } });
    if (!path.startsWith("/console/")) return new Response(null, { status: 204 });
    return new Response(shell, {
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'",
      },
    });
  };
};
