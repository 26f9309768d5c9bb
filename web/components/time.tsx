// A time in short form, with the full time in its tooltip.
import type { VNode } from "preact";
import { shortTimeText, timeText } from "./format.ts";

export const Time = ({ atMs }: { atMs: number }): VNode => (
  <time dateTime={new Date(atMs).toISOString()} title={timeText(atMs)} class="time">
    {shortTimeText(atMs, Date.now())}
  </time>
);
