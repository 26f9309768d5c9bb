// Every file of the corpus, and the bytes of those that need no tool: the committed ones and edits of them.
import { join } from "node:path";
import { CLIPS } from "./clips.ts";
import { PICTURES } from "./pictures.ts";
import type { Recipe } from "./recipe.ts";
import { SOUND } from "./sound.ts";

export const ALL: readonly Recipe[] = [...SOUND, ...CLIPS, ...PICTURES];

const STILL = new Set(PICTURES.map(({ name }) => name));
/** Whether a file is a picture, of which the size alone counts. */
export const isPicture = ({ name }: Recipe): boolean => STILL.has(name);

export const COMMITTED_DIR = join(import.meta.dir, "files");
const BY_NAME = new Map(ALL.map((recipe) => [recipe.name, recipe]));
const sourceOf = ({ name, from = "" }: Recipe): Recipe => {
  const source = BY_NAME.get(from);
  if (!source) throw new Error(`${name} is made from ${from}, which is no file of the corpus`);
  return source;
};

const needsNoTool = (recipe: Recipe): boolean =>
  recipe.edit === undefined ? recipe.isKept === true : needsNoTool(sourceOf(recipe));
/** Those that every machine has. */
export const KEPT: readonly Recipe[] = ALL.filter(needsNoTool);

/** The bytes of one of them. */
export const keptBytes = async (recipe: Recipe): Promise<Uint8Array> =>
  recipe.edit === undefined
    ? Bun.file(join(COMMITTED_DIR, recipe.name)).bytes()
    : recipe.edit(Buffer.from(await keptBytes(sourceOf(recipe))));
