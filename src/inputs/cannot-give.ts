// Decides before pricing whether a provider can receive the files of an input.
import type { CannotGive, PlannedFile } from "../quote/plan.ts";
import type { Giving } from "./provider-inputs.ts";

const NO_LINKS = "it downloads no links";

/** @param isTrusting `media.unpinned`: links whose length is billed are sent as they are */
export const createCannotGive = (giving: Giving, isTrusting: boolean): CannotGive => {
  const isSent = ({ of }: PlannedFile) => of === "foreign" || (of === "pinned" && isTrusting);
  return (providerId, files) => {
    const link = giving.takesLinks(providerId) ? undefined : files.find(isSent);
    if (link) return { file: link, why: NO_LINKS };
    const own = files.filter((file) => !isSent(file));
    const choice = giving.choose(providerId, own);
    const file = "forms" in choice ? undefined : own[choice.at];
    return file && "why" in choice ? { file, why: choice.why } : undefined;
  };
};
