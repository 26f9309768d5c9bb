// Limits of a key, each with its use as a bar and as text.

import type { VNode } from "preact";
import type { KeyView } from "../../src/console/keys-dto.ts";
import { KEY_WINDOWS, type KeyWindow } from "../../src/domain/types.ts";
import { timeText, usd } from "../components/format.ts";

const WORDS: Record<KeyWindow, string> = { day: "today", week: "this week", month: "this month" };
/** Fraction from which a bar is shown as a warning. */
const NEARLY = 0.8;

export const KeyLimitBars = ({ limits }: Pick<KeyView, "limits">): VNode | null => {
  const bars = KEY_WINDOWS.flatMap((window) => {
    const limit = limits[window];
    return limit === null ? [] : [{ window, ...limit }];
  });
  if (bars.length === 0) return null;
  return (
    <ul class="key-limits">
      {bars.map(({ window, limitCredits, spentCredits, resetsAtMs }) => {
        const text = `${usd(spentCredits)} of ${usd(limitCredits)} ${WORDS[window]}`;
        return (
          <li key={window}>
            <span>{text}</span>
            <meter
              min={0}
              max={limitCredits}
              high={limitCredits * NEARLY}
              optimum={0}
              value={Math.min(spentCredits, limitCredits)}
              aria-label={text}
            />
            <small>resets {timeText(resetsAtMs)}</small>
          </li>
        );
      })}
    </ul>
  );
};
