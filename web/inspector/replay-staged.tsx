// Puts Replay and Play on a page that is nothing else: how they are looked at in tests, without the console around them.
import { render } from "preact";
import type { LifeTold } from "../../src/inspector/life-wire.ts";
import { PlayView } from "./play-page.tsx";
import { ReplayPage } from "./replay-load.tsx";

const load = async (id: string): Promise<LifeTold> => {
  const answer = await fetch(`/inspector/api/generations/${id}`);
  const body = (await answer.json()) as LifeTold & { error?: { message: string } };
  if (body.error) throw new Error(body.error.message);
  return body;
};

const [, , page = ""] = location.pathname.split("/");
const place = document.getElementById("app");
if (place) render(page === "play" ? <PlayView /> : <ReplayPage id={page} load={load} />, place);
