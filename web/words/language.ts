// Chooses the language of the pages: the stored choice, or the first language of the browser that a file exists for.
import { LANGUAGES, type Language, language, setLanguage } from "./words.ts";

const STORED = "genrouter.language";
const isLanguage = (text: string): text is Language => Object.hasOwn(LANGUAGES, text);

const chosen = (): Language => {
  try {
    const stored = localStorage.getItem(STORED);
    if (stored !== null && isLanguage(stored)) return stored;
  } catch {
    // Without local storage the language of the browser is used.
  }
  return navigator.languages.map((tag) => tag.split("-")[0] ?? "").find(isLanguage) ?? "en";
};

/**
 * Loads the words before the first page is shown. A language that cannot be loaded leaves the pages in English.
 * @param loadOwn loads the words of the application
 */
export const loadWords = async (loadOwn: () => Promise<void>): Promise<void> => {
  await setLanguage(chosen())
    .then(loadOwn)
    .catch(() => undefined);
  document.documentElement.lang = language;
};

/** Stores the choice and loads the page in that language. */
export const chooseLanguage = (wanted: Language): void => {
  try {
    localStorage.setItem(STORED, wanted);
  } catch {
    // The choice cannot be stored, so the language stays.
  }
  location.reload();
};
