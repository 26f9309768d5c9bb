// The words that the console and the inspector have in common, in the language of the reader.
//
// A language is the files of its code, with the same keys as those of English. Each application and the operator pages load only
// their own files (console-words.ts, inspector-words.ts, operator-words.ts). English is part of every page; another language is
// loaded before the first page is shown (language.ts).
import { type SharedWords, shared } from "./en-shared.ts";

/** The languages, with the name that their speakers use. `locale` formats dates and numbers. */
export const LANGUAGES = {
  en: { name: "English", locale: "en-US", load: async (): Promise<SharedWords> => shared },
  de: { name: "Deutsch", locale: "de-DE", load: async (): Promise<SharedWords> => (await import("./de-shared.ts")).shared },
} as const;
export type Language = keyof typeof LANGUAGES;

/** The words of the current language. Read it while rendering, not while a module is loaded. */
export let words: SharedWords = shared;
export let language: Language = "en";
/** The locale of dates and numbers on all pages. */
export let locale: string = LANGUAGES.en.locale;

/** @throws if the file of the language cannot be loaded */
export const setLanguage = async (wanted: Language): Promise<void> => {
  words = await LANGUAGES[wanted].load();
  language = wanted;
  locale = LANGUAGES[wanted].locale;
};
