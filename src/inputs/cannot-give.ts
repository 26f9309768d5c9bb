// Decides before pricing whether a provider can receive the files of an input.
import type { FileToGive, Giving } from "./provider-inputs.ts";

/**
 * A file of an input. `stored`: a stored file of this service; `pinned`: a link whose length is billed; `foreign`: any other link,
 * which is sent as it is.
 */
export type PlannedFile = FileToGive & { field: string; of: "stored" | "pinned" | "foreign" };
/** @returns the first file that the provider cannot receive, and the reason */
export type CannotGive = (providerId: string, files: readonly PlannedFile[]) => { file: PlannedFile; why: string } | undefined;

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
