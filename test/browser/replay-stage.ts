// Replay and Play on a stage of their own: bundled as browsers get them, under a strict policy, fed from a real store by what tells lives.
import { onTestFinished } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replayOf } from "../../src/inspector/replays.ts";
import { Refusal } from "../../src/refusal.ts";
import type { House } from "../house.ts";

const WEB = join(import.meta.dir, "../../web/inspector");
/** The colours of the house's sheets, which are not part of these pages. */
const COLOURS = `
:root { --bg: #fff; --border: #d5d9e0; --border-strong: #8792a2; --surface: #fff; --surface-2: #f2f4f7; --accent: #2457c5; --accent-soft: #e3ebfb;
  --accent-text: #1c479f; --text: #1c2430; --text-2: #54606f; --danger: #b3261e; --good: #1b6e3c; --on-accent: #fff; color-scheme: light dark }
@media (prefers-color-scheme: dark) { :root { --bg: #171b22; --border: #39404d; --border-strong: #7a8698; --surface: #171b22; --surface-2: #202632;
  --accent: #7ba6ff; --accent-soft: #24345c; --accent-text: #a8c4ff; --text: #e6eaf0; --text-2: #a9b3c1; --danger: #ff8a80; --good: #6fd49a;
  --on-accent: #10151d } }
body { margin: 0; padding: 1rem; font: 16px/1.5 sans-serif; background: var(--bg); color: var(--text) }
button, select, input { font: inherit; color: inherit; background: var(--surface-2); border: 1px solid var(--border-strong); padding: 0.3rem 0.6rem }
button:disabled { color: var(--text-2); border-style: dashed }`;
const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Inspector</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/style.css"></head>
<body><main><h1>Inspector</h1><div id="app"></div></main><script type="module" src="/script.js"></script></body></html>`;
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:";

const bundled = async (): Promise<string> => {
  const built = await Bun.build({
    entrypoints: [join(WEB, "replay-staged.tsx")],
    target: "browser",
    minify: true,
    jsx: { runtime: "automatic", importSource: "preact" },
  });
  const [script] = built.outputs;
  if (!built.success || !script) throw new Error(built.logs.join("\n"));
  return script.text();
};
let script: Promise<string> | null = null;

/** What the pages' script weighs, compressed, and whether an engine that finds places is in it. */
export const scriptOf = async (): Promise<{ gzipBytes: number; hasEngine: boolean }> => {
  script ??= bundled();
  const text = await script;
  return { gzipBytes: Bun.gzipSync(text).length, hasEngine: /\belk\b|org\.eclipse|dagre/i.test(text) };
};

/** Serves the pages over a house's store until the test is over. @returns their address. */
export const openStage = async ({ store }: Pick<House, "store">): Promise<string> => {
  script ??= bundled();
  const code = await script;
  const style = COLOURS + readFileSync(join(WEB, "replay.css"), "utf8");
  const of = (type: string) => ({ headers: { "content-type": type } });
  const told = async (id: string): Promise<Response> => {
    try {
      return Response.json(await replayOf({ store, collectMs: 600_000 }, id, { onlooker: "words" }));
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      // Told as an error of the API is, without a status that a browser would complain of.
      return Response.json({ error: { code: fault.code, message: fault.message } });
    }
  };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: {
      "/script.js": () => new Response(code, of("text/javascript")),
      "/style.css": () => new Response(style, of("text/css")),
      "/inspector/api/generations/:id": ({ params }) => told(params.id),
      "/inspector/*": () => new Response(PAGE, { headers: { "content-type": "text/html", "content-security-policy": POLICY } }),
    },
  });
  onTestFinished(async () => {
    await server.stop(true);
  });
  return server.url.origin;
};
