// All files of the corpus, and the bytes of the committed files and of their edits, which need no tool.
import { join } from "node:path";
import { CLIPS } from "./clips.ts";
import { PICTURES } from "./pictures.ts";
import type { Recipe } from "./recipe.ts";
import { SOUND } from "./sound.ts";

export const ALL: readonly Recipe[] = [...SOUND, ...CLIPS, ...PICTURES];

const STILL = new Set(PICTURES.map(({ name }) => name));
/** Whether a file is an image, of which only the size is compared. */
export const isPicture = ({ name }: Recipe): boolean => STILL.has(name);

export const COMMITTED_DIR = join(import.meta.dir, "files");
const BY_NAME = new Map(ALL.map((recipe) => [recipe.name, recipe]));
const sourceOf = ({ name, from = "" }: Recipe): Recipe => {
  const source = BY_NAME.get(from);
  if (!source) throw new Error(`${name} is made from ${from}, which is not a file of the corpus`);
  return source;
};

const needsNoTool = (recipe: Recipe): boolean =>
  recipe.edit === undefined ? recipe.isKept === true : needsNoTool(sourceOf(recipe));
/** The files that need no tool. */
export const KEPT: readonly Recipe[] = ALL.filter(needsNoTool);

/** The bytes of a file that needs no tool. */
export const keptBytes = async (recipe: Recipe): Promise<Uint8Array> =>
  recipe.edit === undefined
    ? Bun.file(join(COMMITTED_DIR, recipe.name)).bytes()
    : recipe.edit(Buffer.from(await keptBytes(sourceOf(recipe))));
