// The words of the pages: every string that a page shows, in the language of the reader.
//
// A language is one file with the same keys as en.ts. English is part of every page; another language is loaded before the first
// page is shown (language.ts).
import { type English, en } from "./en.ts";

export type Words = English;

/** The languages, with the name that their speakers use. `locale` formats dates and numbers. */
export const LANGUAGES = {
  en: { name: "English", locale: "en-US", load: async (): Promise<Words> => en },
  de: { name: "Deutsch", locale: "de-DE", load: async (): Promise<Words> => (await import("./de.ts")).de },
} as const;
export type Language = keyof typeof LANGUAGES;

/** The words of the current language. Read it while rendering, not while a module is loaded. */
export let words: Words = en;
export let language: Language = "en";
/** The locale of dates and numbers on all pages. */
export let locale: string = LANGUAGES.en.locale;

/** @throws if the file of the language cannot be loaded */
export const setLanguage = async (wanted: Language): Promise<void> => {
  words = await LANGUAGES[wanted].load();
  language = wanted;
  locale = LANGUAGES[wanted].locale;
};
