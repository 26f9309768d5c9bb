// The inspector application: live view, replay of a generation, and statechart playground.
import { render, type VNode } from "preact";
import { useEffect } from "preact/hooks";
import { useLocation } from "wouter-preact";
import type { GenerationHistoryDto } from "../../src/inspector/generation-history-dto.ts";
import { call, learnMe, me } from "../components/api.ts";
import { Frame, type NavigationEntry } from "../components/layout.tsx";
import { lazyPage } from "../components/lazy-page.tsx";

const PLACES: readonly NavigationEntry[] = [
  { href: "/inspector", says: "Live", group: "Inspector" },
  { href: "/inspector/play", says: "Play", group: "Inspector" },
  { href: "/console", says: "Console", group: "" },
];

const socketUrl = (path: string): string => `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}${path}`;
const requestToken = async () => {
  // The user may have signed in in another tab after this page was opened.
  if (!me.value?.signedIn) await learnMe();
  return call<{ token: string; expiresAtMs: number }>("POST", "/inspector/api/token");
};
const loadLife = (id: string) => call<GenerationHistoryDto>("GET", `/inspector/api/generations/${encodeURIComponent(id)}`);

const Live = lazyPage(async () => {
  const { LiveView } = await import("./live-page.tsx");
  return () => (
    <LiveView liveUrl={socketUrl("/inspector/api/live")} openUrl={socketUrl("/inspector/ws")} requestToken={requestToken} />
  );
});
const Play = lazyPage(async () => (await import("./play-page.tsx")).PlayView);
const Replay = lazyPage(async () => {
  const { ReplayPage } = await import("./replay-load.tsx");
  return ({ id }: { id: string }) => <ReplayPage id={id} load={loadLife} />;
});

const Inspector = (): VNode => {
  const [path] = useLocation();
  // With the simulator there may be no signed-in user; the layout then shows none.
  useEffect(() => void learnMe().catch(() => undefined), []);
  const id = /^\/inspector\/(?:generation\/)?(gen_\w{1,80})$/.exec(path)?.[1];
  if (id)
    return (
      <Frame title="Replay" places={[...PLACES, { href: path, says: "Replay", group: "Inspector" }]} path={path}>
        <Replay id={id} />
      </Frame>
    );
  if (path === "/inspector/play")
    return (
      <Frame title="Play" places={PLACES} path={path}>
        <Play />
      </Frame>
    );
  return (
    <Frame title={path === "/inspector" ? "Live" : "Page not found"} places={PLACES} path={path}>
      {path === "/inspector" ? <Live /> : <p>Choose a page from the menu.</p>}
    </Frame>
  );
};

const place = document.getElementById("page");
if (place) render(<Inspector />, place);
