// The words of the inspector, in the language of the reader.
import { inspector } from "./en-inspector.ts";
import { shared } from "./en-shared.ts";
import { type Language, language } from "./words.ts";

const english = { ...shared, inspector };
export type InspectorWords = typeof english;

const LANGUAGES: Readonly<Record<Language, () => Promise<InspectorWords>>> = {
  en: async () => english,
  de: async () => {
    const [common, own] = await Promise.all([import("./de-shared.ts"), import("./de-inspector.ts")]);
    return { ...common.shared, inspector: own.inspector };
  },
};

/** The words of the current language. Read it while rendering, not while a module is loaded. */
export let words: InspectorWords = english;

/** @throws if the files of the language cannot be loaded */
export const loadInspectorWords = async (): Promise<void> => {
  words = await LANGUAGES[language]();
};
