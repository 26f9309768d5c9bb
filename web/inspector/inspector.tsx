// The inspector application: live view, replay of a generation, and statechart playground.
import { Activity, ArrowLeft, History, Workflow } from "lucide";
import { render, type VNode } from "preact";
import { useEffect } from "preact/hooks";
import { useLocation } from "wouter-preact";
import type { GenerationHistoryDto } from "../../src/inspector/generation-history-dto.ts";
import { call, learnMe, me } from "../components/api.ts";
import { Icon } from "../components/icon.tsx";
import { Frame, type NavigationEntry } from "../components/layout.tsx";
import { lazyPage } from "../components/lazy-page.tsx";
import { loadInspectorWords, words } from "../words/inspector-words.ts";
import { loadWords } from "../words/language.ts";

const placesOf = (replay?: string): NavigationEntry[] => {
  const group = words.frame.inspector;
  return [
    { href: "/inspector", label: words.pages.live, group, icon: Activity },
    { href: "/inspector/play", label: words.pages.play, group, icon: Workflow },
    ...(replay === undefined ? [] : [{ href: replay, label: words.pages.replay, group, icon: History }]),
  ];
};

/** The way back, in the header of every page. */
const ToConsole = (): VNode => (
  <a class="button is-quiet" href="/console">
    <Icon of={ArrowLeft} size={16} />
    {words.frame.console}
  </a>
);

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
      <Frame title={words.pages.replay} places={placesOf(path)} path={path} standing={<ToConsole />}>
        <Replay id={id} />
      </Frame>
    );
  if (path === "/inspector/play")
    return (
      <Frame title={words.pages.play} places={placesOf()} path={path} standing={<ToConsole />}>
        <Play />
      </Frame>
    );
  return (
    <Frame
      title={path === "/inspector" ? words.pages.live : words.frame.notFound}
      places={placesOf()}
      path={path}
      standing={<ToConsole />}
    >
      {path === "/inspector" ? <Live /> : <p>{words.frame.notFoundAbout}</p>}
    </Frame>
  );
};

await loadWords(loadInspectorWords);
const place = document.getElementById("page");
if (place) render(<Inspector />, place);
