// Describes the result of a check of a provider's key.
import type { KeyChecked } from "../../../src/console/operator-dto.ts";
import { operatorWords } from "../../words/operator-words.ts";

export const checkText = ({ name, kind, detail }: Pick<KeyChecked, "name" | "kind" | "detail">): string => {
  const { providers } = operatorWords;
  if (kind === "works") return providers.works(name, detail ?? "");
  if (kind === "refused") return providers.refused(name, detail ?? "");
  return kind === "unclear" ? providers.unclear(name, detail ?? "") : providers.notTestable(name);
};

/** The results of all interfaces of an account. */
export const checksText = (checks: readonly KeyChecked[]): string =>
  checks.length === 0 ? operatorWords.providers.noneToTest : checks.map(checkText).join(" ");
