// The live page on a stage of its own: bundled as browsers get it, under a strict policy, in front of a real service that it connects to by a token.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { source as axe } from "axe-core";
import type { Browser, BrowserContextOptions } from "playwright-core";
import type { House } from "../house.ts";
import { socketUrl, tokenOf } from "../inspector/onlooker.ts";

const WEB = join(import.meta.dir, "../../web/inspector");
const IN_PAGE = join(import.meta.dir, "in-page.js");
/** The colours of the house's sheets, which are not part of this page. */
const COLOURS = `
:root { --border: #d5d9e0; --border-strong: #8792a2; --surface: #fff; --surface-2: #f2f4f7; --accent: #2457c5; --accent-soft: #e3ebfb;
  --accent-text: #1c479f; --text: #1c2430; --text-2: #54606f; --danger: #b3261e; --on-accent: #fff; color-scheme: light dark }
@media (prefers-color-scheme: dark) { :root { --border: #39404d; --border-strong: #7a8698; --surface: #171b22; --surface-2: #202632;
  --accent: #7ba6ff; --accent-soft: #24345c; --accent-text: #a8c4ff; --text: #e6eaf0; --text-2: #a9b3c1; --danger: #ff8a80;
  --on-accent: #10151d } }
body { margin: 0; padding: 1rem; font: 16px/1.5 sans-serif; background: var(--surface); color: var(--text) }
button, select, input { font: inherit; color: inherit; background: var(--surface-2); border: 1px solid var(--border-strong); padding: 0.3rem 0.6rem }`;

const bundled = async (entry: string): Promise<string> => {
  const built = await Bun.build({
    entrypoints: [entry],
    target: "browser",
    minify: true,
    jsx: { runtime: "automatic", importSource: "preact" },
  });
  const [script] = built.outputs;
  if (!built.success || !script) throw new Error(built.logs.join("\n"));
  return script.text();
};

/** Serves the page for one service. */
export const openStage = async (house: Pick<House, "url" | "rooms">) => {
  const openUrl = socketUrl(house, "/inspector/ws");
  // A token for each visit: the service's time may have been moved on since the last.
  const props = () => ({
    liveUrl: `${socketUrl(house, "/inspector/api/live")}?token=${tokenOf(house, "operator").token}`,
    openUrl,
  });
  const script = await bundled(join(WEB, "live-staged.ts"));
  const style = COLOURS + ["replay.css", "live.css"].map((name) => readFileSync(join(WEB, name), "utf8")).join("\n");
  const policy = `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ${new URL(openUrl).origin}`;
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Live</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/style.css"></head>
<body><main><h1>Live</h1><div id="app"></div></main><script type="module" src="/script.js"></script></body></html>`;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: {
      "/script.js": () => new Response(script, { headers: { "content-type": "text/javascript" } }),
      "/style.css": () => new Response(style, { headers: { "content-type": "text/css" } }),
      "/props": () => Response.json(props()),
      "/token": () => Response.json(tokenOf(house, "operator")),
      "/": () =>
        new Response(page, {
          headers: { "content-type": "text/html", "content-security-policy": `${policy}; img-src data:` },
        }),
    },
  });
  return {
    scriptBytes: Bun.gzipSync(script).length,
    /** Opens the page and watches it: whom it asks, what it complains of. */
    visit: async (browser: Browser, look: BrowserContextOptions = {}) => {
      const context = await browser.newContext(look);
      const page = await context.newPage();
      const asked: string[] = [];
      const complaints: string[] = [];
      page.on("request", (request) => void asked.push(request.url()));
      page.on("websocket", (socket) => void asked.push(socket.url()));
      page.on("pageerror", (fault) => void complaints.push(fault.message));
      page.on("console", (line) => {
        if (line.type() === "error" || line.type() === "warning") complaints.push(line.text());
      });
      await page.addInitScript({ path: IN_PAGE });
      await page.goto(server.url.href);
      await page.getByText("Connected: what happens is shown").waitFor();
      return {
        page,
        asked,
        complaints,
        overhang: () => page.evaluate<number>("inPage.overhang()"),
        /** The page has to be opened with `bypassCSP`: the checker is the test's own script. */
        faults: async () => {
          await page.evaluate(axe);
          return page.evaluate<string[]>("inPage.faults()");
        },
        close: () => context.close(),
      };
    },
    close: async () => {
      await server.stop(true);
    },
  };
};
