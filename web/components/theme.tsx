// Theme: light, dark or that of the system, stored in this browser.
import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { words } from "../words/words.ts";

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
  <label class="menu-field">
    <span>{words.userMenu.theme}</span>
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
      {THEMES.map((one) => (
        <option key={one} value={one}>
          {words.userMenu[one]}
        </option>
      ))}
    </select>
  </label>
);
