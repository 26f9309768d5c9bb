// Limits of a key, each with its use as a bar and as text.
import type { VNode } from "preact";
import type { KeyView } from "../../src/console/keys-dto.ts";
import { KEY_WINDOWS } from "../../src/domain/types.ts";
import { timeText, usd } from "../components/format.ts";
import { words } from "../words/console-words.ts";

/** Fraction from which a bar is shown as a warning. */
const NEARLY = 0.8;

export const KeyLimitBars = ({ limits }: Pick<KeyView, "limits">): VNode => {
  const bars = KEY_WINDOWS.flatMap((window) => {
    const limit = limits[window];
    return limit === null ? [] : [{ window, ...limit }];
  });
  if (bars.length === 0) return <span class="muted">{words.keys.noLimit}</span>;
  return (
    <ul class="key-limits">
      {bars.map(({ window, limitCredits, spentCredits, resetsAtMs }) => {
        const text = words.keys.spentOf[window](usd(spentCredits), usd(limitCredits));
        return (
          <li key={window} title={words.keys.resets(timeText(resetsAtMs))}>
            <span>{text}</span>
            <meter
              min={0}
              max={limitCredits}
              high={limitCredits * NEARLY}
              optimum={0}
              value={Math.min(spentCredits, limitCredits)}
              aria-label={text}
            />
          </li>
        );
      })}
    </ul>
  );
};
