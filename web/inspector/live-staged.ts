// The live page by itself, in front of a service at another address: what its props are is asked of whoever serves it.
import { h, render } from "preact";
import { type LiveProps, LiveView } from "./live-page.tsx";

const { liveUrl, openUrl } = (await (await fetch("/props")).json()) as Omit<LiveProps, "askToken">;
const askToken: LiveProps["askToken"] = async () => (await fetch("/token", { method: "POST" })).json();
const place = document.getElementById("app");
if (place) render(h(LiveView, { liveUrl, openUrl, askToken }), place);
