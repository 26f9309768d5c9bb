// Serves the whole console over the generations fixture, built as the service builds it and with its policy.
import { buildWeb } from "../../web/build.ts";
import { openMakingStage } from "../console/generations-fixture.ts";
import { type HarnessOptions, openHarness } from "../harness.ts";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:";

export const openConsoleStage = async (options: HarnessOptions) => {
  const { files, pages } = await buildWeb();
  const assets = new Map(files.map((file) => [`/assets/${file.name}`, file]));
  const { script, styles } = pages.console;
  const shell = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Console</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    ${styles.map((name) => `<link rel="stylesheet" href="/assets/${name}">`).join("")}
    <script type="module" src="/assets/${script}"></script></head><body><div id="page"></div></body></html>`;
  const harness = await openHarness(options);
  const stage = openMakingStage(harness, (path) => {
    const asset = assets.get(path);
    if (asset) return new Response(asset.raw.slice(), { headers: { "content-type": asset.type } });
    if (!path.startsWith("/console")) return new Response(null, { status: 204 });
    return new Response(shell, {
      headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": POLICY },
    });
  });
  return { harness, stage };
};
