// Theme switch: light, dark or automatic, stored in this browser.
import { signal } from "@preact/signals";
import type { VNode } from "preact";

const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const KEPT = "genrouter.theme";

const kept = (): Theme => {
  try {
    const text = localStorage.getItem(KEPT);
    return THEMES.find((theme) => theme === text) ?? "auto";
  } catch {
    return "auto";
  }
};

const theme = signal<Theme>(kept());
const show = (): void => {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
};
show();

export const ThemeSwitch = (): VNode => (
  <label class="theme">
    <span class="unseen">Colours</span>
    <select
      value={theme.value}
      onChange={({ currentTarget }) => {
        theme.value = THEMES.find((one) => one === currentTarget.value) ?? "auto";
        show();
        try {
          localStorage.setItem(KEPT, theme.value);
        } catch {
          // Without local storage the choice lasts until the page is closed.
        }
      }}
    >
      <option value="auto">Auto</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  </label>
);
