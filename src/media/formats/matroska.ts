// Measures Matroska and WebM by their blocks, ignoring the declared duration.
//
// Pictures are measured by block timestamps, sound by its packets.
import { latin1, Unreadable } from "../byte-source.ts";
import type { Cursor } from "./cursor.ts";
import { type Element, elementOf, elementsIn, floatOf, ID, intOf, uintOf } from "./ebml.ts";
import type { Inspection } from "./inspection.ts";
import { addBlock, type Clock, endGroup, newTally, type Tally, tallied } from "./matroska-durations.ts";
import { lastClusterFrom, nextClusterFrom, TABLES } from "./matroska-end.ts";
import { type Track, trackOf } from "./matroska-track.ts";
import { clipOf } from "./tracks.ts";

/** Maximum number of elements in a file. A block each 20 ms makes a million in six hours. */
const MAX_ELEMENTS = 4_000_000;
const MAX_TRACKS = 64;
/** Maximum header that is read. It contains names and codec data, but no attached pictures or fonts. */
const MAX_HEADER_BYTES = 4 * 1024 * 1024;
/** Maximum number of positions from seek tables: each header once, and a second table. */
const MAX_SOUGHT = 64;
/** A file up to this size is read whole. For a larger remote file, the last cluster determines the end. */
const READ_WHOLE_BYTES = 8 * 1024 * 1024;
/** Maximum difference between the declared duration and the last cluster. */
const AGREEMENT_S = 0.25;

const ENTERED: ReadonlySet<number> = new Set([ID.segment, ID.cluster, ID.group]);
const CLOSING: ReadonlySet<number> = new Set([ID.group, ID.simpleBlock, ID.cluster]);

type State = {
  clock: Clock;
  tallies: Map<number, Tally>;
  docType: string;
  declaredS: number;
  isCut: boolean;
  clusterEnd: number;
  hasClock: boolean;
  segmentStart: number;
  /** Whether a cluster was reached. Headers after it are used only if a table before it points to them. */
  hasCluster: boolean;
  /** Positions of other headers according to seek tables. */
  sought: { id: number; at: number }[];
};

const addSought = (seek: Uint8Array, { sought, segmentStart }: State): void => {
  const inside = elementsIn(seek);
  const number = (wanted: number) => uintOf(inside.find(({ id }) => id === wanted)?.content ?? new Uint8Array(0));
  sought.push({ id: number(ID.seekId), at: segmentStart + number(ID.seekPosition) });
};

const isMissing = ({ hasClock, tallies }: State, id: number) =>
  (id === ID.info && !hasClock) || (id === ID.tracks && tallies.size === 0);

const readHeader = async (cursor: Cursor, element: Element, state: State): Promise<void> => {
  const isLate = state.hasCluster && isMissing(state, element.id);
  const { tickS } = state.clock;
  await readContent(cursor, element, state);
  // A decoder that did not search for this header played the earlier blocks without tracks or with another clock.
  if (isLate && (element.id === ID.tracks || state.clock.tickS !== tickS))
    throw new Unreadable("its index is not one of a real file");
};

const readContent = async (cursor: Cursor, { id, start, end }: Element, state: State): Promise<void> => {
  if (end === undefined || end - start > MAX_HEADER_BYTES) throw new Unreadable("its header is too large");
  if (!(await cursor.load(start, end - start))) return;
  const content = cursor.part(start, end - start).slice();
  for (const { id: inner, content: value } of elementsIn(content, id === ID.tracks)) {
    if (id === ID.header && inner === ID.docType) state.docType = latin1(value);
    // The first clock applies; decoders ignore a second one.
    if (id === ID.info && inner === ID.scale && !state.hasClock) state.clock.tickS = (uintOf(value) || 1_000_000) / 1e9;
    if (id === ID.seekHead && inner === ID.seek) addSought(value, state);
    const track = id === ID.tracks && inner === ID.track ? trackOf(value) : undefined;
    if (track && state.tallies.size >= MAX_TRACKS) throw new Unreadable(`it has more than ${MAX_TRACKS} tracks`);
    if (track && !state.tallies.has(track.number)) state.tallies.set(track.number, newTally(track));
  }
  if (id === ID.info) state.hasClock = true;
  const declared = id === ID.info ? elementsIn(content).find((element) => element.id === ID.duration) : undefined;
  if (declared) state.declaredS = floatOf(declared.content) * state.clock.tickS;
};

const HEADERS: ReadonlySet<number> = new Set([ID.header, ID.info, ID.tracks, ID.seekHead]);

/** Before the first cluster, reads missing headers at the positions in seek tables, which may be after all clusters. */
const readSought = async (cursor: Cursor, state: State): Promise<void> => {
  for (let n = 0; n < Math.min(state.sought.length, MAX_SOUGHT); n++) {
    const { id, at } = state.sought[n] ?? { id: 0, at: 0 };
    const isNeeded = isMissing(state, id) || (id === ID.seekHead && [ID.info, ID.tracks].some((each) => isMissing(state, each)));
    const element = isNeeded ? await elementOf(cursor, at) : undefined;
    if (element?.id === id) await readHeader(cursor, element, state);
  }
  state.hasCluster = true;
};

/** Reads small values of a cluster and its groups. */
const readValue = async (cursor: Cursor, { id, start, end }: Element, clock: Clock): Promise<void> => {
  const length = (end ?? start) - start;
  if (length > 8 || !(await cursor.load(start, length))) return;
  const content = cursor.part(start, length);
  if (id === ID.clusterTime) clock.cluster = uintOf(content);
  if (id === ID.blockDuration && clock.group) clock.group.duration = uintOf(content);
  // A negative value applies to the start, which not every decoder skips.
  if (id === ID.discardPadding && clock.group) clock.group.paddingS = Math.max(0, intOf(content) / 1e9);
};

/** If a table is damaged, a decoder searches it for clusters; a real table contains none. @throws Unreadable */
const requireNoCluster = async (cursor: Cursor, from: number, to: number): Promise<void> => {
  if ((await nextClusterFrom(cursor, from, to)) !== undefined) throw new Unreadable("its index is not one of a real file");
};

/**
 * Returns where a decoder continues that does not skip an element: at the next cluster. Decoders trust index tables, and blocks
 * within the declared length of their cluster. In every other element and after invalid data, they find any cluster that is
 * present.
 */
const hiddenAt = async (cursor: Cursor, at: number, element: Element | undefined, state: State): Promise<number | undefined> => {
  if (at >= state.clusterEnd) state.clusterEnd = Number.NaN;
  if (!element) return nextClusterFrom(cursor, at + 1, cursor.sizeBytes);
  const { id, start, end } = element;
  if (TABLES.has(id) && end !== undefined) await requireNoCluster(cursor, start, Math.min(end, cursor.sizeBytes));
  if (id === ID.cluster) state.clusterEnd = end ?? Number.NaN;
  const isBelieved = TABLES.has(id) || end === undefined || end <= state.clusterEnd;
  if (ENTERED.has(id) || (isBelieved && (end ?? at) <= cursor.sizeBytes)) return undefined;
  return nextClusterFrom(cursor, at + 1, Math.min(end ?? at, cursor.sizeBytes));
};

/** Parses elements from `from`. Stops early when `isEnough` returns true, and returns that offset. */
const walk = async (cursor: Cursor, from: number, state: State, isEnough: (element: Element) => boolean): Promise<number> => {
  const { clock, tallies } = state;
  let at = from;
  for (let n = 0; at < cursor.sizeBytes; n++) {
    if (n > MAX_ELEMENTS) throw new Unreadable("its index is not one of a real file");
    const element = await elementOf(cursor, at);
    const hidden = await hiddenAt(cursor, at, element, state);
    if (hidden !== undefined) {
      endGroup(clock, tallies);
      at = hidden;
      continue;
    }
    if (!element) break;
    const { id, start, end } = element;
    if (CLOSING.has(id)) endGroup(clock, tallies);
    if (isEnough(element)) return at;
    if (end !== undefined && end > cursor.sizeBytes) state.isCut = true;
    if (end === undefined && !ENTERED.has(id)) throw new Unreadable("its index is broken");
    if (id === ID.segment && state.segmentStart < 0) state.segmentStart = start;
    if (id === ID.cluster && !state.hasCluster) await readSought(cursor, state);
    if (id === ID.group) clock.group = {};
    if (HEADERS.has(id)) await readHeader(cursor, element, state);
    else if (id === ID.simpleBlock || id === ID.block) await addBlock(cursor, element, clock, tallies);
    else if (!ENTERED.has(id)) await readValue(cursor, element, clock);
    at = ENTERED.has(id) ? start : (end ?? cursor.sizeBytes);
  }
  endGroup(clock, tallies);
  return at;
};

const newState = (): State => ({
  clock: { tickS: 0.001, cluster: 0, group: undefined },
  tallies: new Map(),
  docType: "",
  declaredS: 0,
  isCut: false,
  clusterEnd: Number.NaN,
  hasClock: false,
  segmentStart: -1,
  hasCluster: false,
  sought: [],
});

/** Measures by the first and the last cluster. Returns false if they do not confirm each other or the declared duration. */
const measureEnds = async (cursor: Cursor, state: State): Promise<boolean> => {
  let clusters = 0;
  const isSecond = ({ id }: Element) => id === ID.cluster && ++clusters > 1;
  const at = await walk(cursor, 0, state, isSecond);
  const last = await lastClusterFrom(cursor, at);
  if (last === undefined) return false;
  await walk(cursor, last, state, () => false);
  for (const tally of state.tallies.values()) tally.isPartial = true;
  if (state.declaredS === 0) return true;
  const ends = [...state.tallies.values()].flatMap((tally) => (tally.blocks > 0 ? [tally] : []));
  const endS = Math.max(...ends.map(({ endS: end }) => end));
  const startS = Math.min(...ends.map(({ startS: start }) => start));
  return [endS, endS - startS].some((seconds) => Math.abs(seconds - state.declaredS) <= AGREEMENT_S);
};

const mimeOf = (docType: string, hasPicture: boolean): string =>
  `${hasPicture ? "video" : "audio"}/${docType === "webm" ? "webm" : "x-matroska"}`;

const kindOf =
  (kind: Track["kind"]) =>
  ({ track, blocks }: Tally) =>
    track.kind === kind && blocks > 0;

const isEmpty = ({ blocks, bytes }: Tally) => blocks > 0 && bytes === 0;

/** @throws Unreadable */
export const readMatroska = async (cursor: Cursor, isShallow: boolean): Promise<Inspection> => {
  let state = newState();
  const isByEnds = isShallow && cursor.sizeBytes > READ_WHOLE_BYTES && (await measureEnds(cursor, state));
  if (!isByEnds) {
    state = newState();
    await walk(cursor, 0, state, () => false);
  }
  const tallies = [...state.tallies.values()];
  const pictures = tallies.filter(kindOf("video")).map((tally) => ({ ...tallied(tally), ...tally.track }));
  const sounds = tallies.filter(kindOf("audio")).map(tallied);
  const clip = clipOf(
    pictures.map(({ seconds, meanS, width, height }) => ({ seconds, frameS: meanS, width, height })),
    sounds.map(({ seconds, meanS }) => ({ seconds, frameS: meanS })),
  );
  const isUncounted = sounds.some((sound) => sound.isUncounted);
  const found: Inspection = {
    ...clip,
    mime: mimeOf(state.docType, clip.kind === "video"),
    isComplete: !state.isCut && !tallies.some(isEmpty),
  };
  return isUncounted ? { ...found, isUncounted } : found;
};
