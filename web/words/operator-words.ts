// The words of the operator pages, in the language of the reader. They are loaded with the first operator page.
import { audit } from "./en-audit.ts";
import { operation } from "./en-operation.ts";
import { operator } from "./en-operator.ts";
import { type Language, language } from "./words.ts";

const english = { ...operator, ...operation, audit };
export type OperatorWords = typeof english;

const LANGUAGES: Readonly<Record<Language, () => Promise<OperatorWords>>> = {
  en: async () => english,
  de: async () => {
    const [shared, pages, log] = await Promise.all([
      import("./de-operator.ts"),
      import("./de-operation.ts"),
      import("./de-audit.ts"),
    ]);
    return { ...shared.operator, ...pages.operation, audit: log.audit };
  },
};

/** The words of the current language. Read it while rendering, not while a module is loaded. */
export let operatorWords: OperatorWords = english;

/** @throws if the file of the language cannot be loaded */
export const loadOperatorWords = async (): Promise<void> => {
  operatorWords = await LANGUAGES[language]();
};
