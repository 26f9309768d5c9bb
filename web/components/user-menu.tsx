// User menu of every page: theme, language, profile and signing out.
import { CircleUserRound, LogOut, UserRound, UsersRound } from "lucide";
import type { VNode } from "preact";
import { chooseLanguage } from "../words/language.ts";
import { LANGUAGES, type Language, language, words } from "../words/words.ts";
import { call, learnMe, me } from "./api.ts";
import { Icon } from "./icon.tsx";
import { Menu } from "./menu.tsx";
import { ThemeSwitch } from "./theme.tsx";

const signOut = async (): Promise<void> => {
  await call("DELETE", "/console/api/session").catch(() => undefined);
  await learnMe();
};

const LanguageSwitch = (): VNode => (
  <label class="menu-field">
    <span>{words.userMenu.language}</span>
    <select value={language} onChange={({ currentTarget }) => chooseLanguage(currentTarget.value as Language)} autocomplete="off">
      {Object.entries(LANGUAGES).map(([tag, { name }]) => (
        <option key={tag} value={tag} lang={tag}>
          {name}
        </option>
      ))}
    </select>
  </label>
);

export const UserMenu = (): VNode => {
  const who = me.value?.signedIn;
  return (
    <Menu label={words.userMenu.label} icon={CircleUserRound} class="user-menu">
      {who && (
        <p class="menu-head">
          <strong>{who.name || who.email}</strong>
          <span>{who.email}</span>
          {who.accountName !== null && <span>{who.accountName}</span>}
        </p>
      )}
      <ThemeSwitch />
      <LanguageSwitch />
      {who && (
        <>
          <a class="menu-item" href="/console/profile">
            <Icon of={UserRound} />
            {words.userMenu.profile}
          </a>
          {who.accountId !== null && (
            <a class="menu-item" href="/console/team">
              <Icon of={UsersRound} />
              {words.pages.team}
            </a>
          )}
          <button type="button" class="menu-item" data-closes onClick={() => void signOut()}>
            <Icon of={LogOut} />
            {words.userMenu.signOut}
          </button>
        </>
      )}
    </Menu>
  );
};
