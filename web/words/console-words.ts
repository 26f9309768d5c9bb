// The words of the console, in the language of the reader.
import { type ConsoleWords, en } from "./en.ts";
import { type Language, language } from "./words.ts";

const LANGUAGES: Readonly<Record<Language, () => Promise<ConsoleWords>>> = {
  en: async () => en,
  de: async () => (await import("./de.ts")).de,
};

/** The words of the current language. Read it while rendering, not while a module is loaded. */
export let words: ConsoleWords = en;

/** @throws if the file of the language cannot be loaded */
export const loadConsoleWords = async (): Promise<void> => {
  words = await LANGUAGES[language]();
};
