// Clips that clients of a simulated world link to.
//
// Each server can return different lengths for measurement, download and provider.
import type { Measured, MediaLink, PinnedCopy } from "../../domain/types.ts";
import type { Faults } from "./faults.ts";
import type { Rng } from "./rng.ts";

/**
 * Copies of pinned inputs by generation and number, generations whose clip was reported as unavailable, and the times at which a
 * fault deleted copies. All of them outlive every process.
 */
export type Clips = { copies: Map<string, PinnedCopy>; refused: Set<string>; lostAtMs: Map<string, number> };
export const createClips = (): Clips => ({ copies: new Map(), refused: new Set(), lostAtMs: new Map() });
export const copyName = (generationId: string, n: number): string => `${generationId} ${n}`;

/** The lengths that a server returns for measurement and for download, and whether the download never ends. */
export type Shown = { measuredMs: number; fetchedMs: number; isStuck: boolean };
export const FRAME_MS = 42;
/** The length that any other client receives. */
const SHOWN_TO_OTHERS_MS = 99_000;

const clipUrl = (name: string, { measuredMs, fetchedMs, isStuck }: Shown): string =>
  `https://clips.example.com/${name}?measured=${measuredMs}&fetched=${fetchedMs}&stuck=${Number(isStuck)}`;
export const shownBy = (url: string): Shown => {
  const { searchParams } = new URL(url);
  const of = (name: string) => Number(searchParams.get(name));
  return { measuredMs: of("measured"), fetchedMs: of("fetched"), isStuck: of("stuck") === 1 };
};

/**
 * Creates the link of a clip, whose length may differ by more than a frame at its download. @param mayBeStuck whether its client
 * has a maximum wait
 */
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

/** The length of the clip behind a link; undefined if the link is invalid. */
export const openedMs = ({ copies }: Clips, link: string): number | undefined => {
  const [, ref = "", n = ""] = /^https:\/\/us\.test\/inputs\/(.+)\/(\d+)\?/.exec(link) ?? [];
  if (ref === "") return SHOWN_TO_OTHERS_MS;
  return copies.get(copyName(`gen_${ref.slice(0, ref.lastIndexOf("-"))}`, Number(n)))?.ms;
};
