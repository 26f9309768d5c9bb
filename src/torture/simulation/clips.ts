// The clips that clients of a simulated world link to: what each server shows when it is measured, when it is fetched, and to a provider.
import type { Measured, MediaLink, PinnedCopy } from "../../domain/types.ts";
import type { Faults } from "./faults.ts";
import type { Rng } from "./rng.ts";

/**
 * Our copies of pinned inputs by generation and number; generations that were told that a clip cannot be had; and when a fault last took the
 * copy of a generation away. They outlive every process.
 */
export type Clips = { copies: Map<string, PinnedCopy>; refused: Set<string>; lostAtMs: Map<string, number> };
export const createClips = (): Clips => ({ copies: new Map(), refused: new Set(), lostAtMs: new Map() });
export const copyName = (generationId: string, n: number): string => `${generationId} ${n}`;

/** What a server shows: to who measures, to who fetches the whole, and whether that ever gets an answer. */
export type Shown = { measuredMs: number; fetchedMs: number; isStuck: boolean };
export const FRAME_MS = 42;
/** What is shown to anybody else. */
const SHOWN_TO_OTHERS_MS = 99_000;

const clipUrl = (name: string, { measuredMs, fetchedMs, isStuck }: Shown): string =>
  `https://clips.example.com/${name}?measured=${measuredMs}&fetched=${fetchedMs}&stuck=${Number(isStuck)}`;
export const shownBy = (url: string): Shown => {
  const { searchParams } = new URL(url);
  const of = (name: string) => Number(searchParams.get(name));
  return { measuredMs: of("measured"), fetchedMs: of("fetched"), isStuck: of("stuck") === 1 };
};

/** A clip that is not a frame longer or shorter when it is fetched, or is. @param mayBeStuck whoever waits for it gives up some time */
export const drawClip = (
  dice: Rng,
  name: string,
  faults: Pick<Faults, "changedClip" | "stuckClip">,
  mayBeStuck: boolean,
): string => {
  const measuredMs = dice.whole(2, 30) * 1000;
  const fetchedMs = dice.chance(faults.changedClip)
    ? dice.whole(measuredMs + 2 * FRAME_MS, 60_000)
    : measuredMs + dice.pick([0, 0, FRAME_MS - 1, 1 - FRAME_MS]);
  return clipUrl(name, { measuredMs, fetchedMs, isStuck: mayBeStuck && dice.chance(faults.stuckClip) });
};

export const measureClips = (links: readonly MediaLink[]): Measured[] =>
  links.map((link) => ({ ...link, ms: shownBy(link.url).measuredMs, frameMs: FRAME_MS, width: 1280, height: 720, bytes: 1000 }));

/** How long the clip is that whoever opens this link gets; undefined where it opens nothing. */
export const openedMs = ({ copies }: Clips, link: string): number | undefined => {
  const [, ref = "", n = ""] = /^https:\/\/us\.test\/inputs\/(.+)\/(\d+)\?/.exec(link) ?? [];
  if (ref === "") return SHOWN_TO_OTHERS_MS;
  return copies.get(copyName(`gen_${ref.slice(0, ref.lastIndexOf("-"))}`, Number(n)))?.ms;
};
