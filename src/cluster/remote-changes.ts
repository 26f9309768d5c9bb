// What other nodes do with their generations, read while somebody looks on and other nodes are alive, and told as if it were committed here.
import type { Clock } from "../domain/clock.ts";
import { generationSeqAt } from "../domain/ids.ts";
import type { Elsewhere, NodeReads, Others, RemoteGeneration, WrittenLine } from "../store/cluster-port.ts";

/** What has become of a generation of another node since it was last told of. */
export type ChangeElsewhere = RemoteGeneration & {
  /** The node that it belongs to, by its name. */
  node: string;
  /** What was written since, oldest first, each with the name of the node that wrote it; empty where nobody wants to know. */
  steps: readonly (WrittenLine & { node: string })[];
  /** It is told of for the first time. */
  isNew: boolean;
};
export type Follower = {
  told: (change: ChangeElsewhere) => void;
  /** Whether each step is wanted, or only what came of them; and whether with the requests that were made, which hold prompts. */
  wantsSteps: boolean | "with requests";
  /** Whether generations of an account are wanted. */
  wants: (accountSeq: number) => boolean;
};
export type Following = {
  /** Resolves when everything that is written from now on will be told. */
  ready: Promise<void>;
  leave: () => void;
};
export type RemoteChanges = {
  follow(follower: Follower): Following;
  /** Something of a generation was missed after a version: it is told of at the next look, whoever owns it. */
  want(seq: number, version: number): void;
  /** The node that a generation belongs to, where that is another one and it has not ended. */
  nodeOf(seq: number): string | undefined;
  /** Generations not ended of all nodes, as `unfinished` of the store is of this one. */
  unfinished: Others["unfinished"];
  /** What this node itself is called. */
  own: string;
  /** How many are on the other nodes, as of the last look. */
  counts(): { queued: number; running: number };
  /** How many nodes were alive at the last look, this one among them. */
  nodes(): number;
};

export type RemoteChangesDeps = {
  others: Pick<Others, "written" | "open" | "ended" | "steps" | "standing" | "unfinished">;
  names: NodeReads["names"];
  own: string;
  clock: Clock;
  failed: (fault: unknown) => void;
};

const LOOK_MS = 500;
/** A look that takes long is followed by a longer rest, so that no more than a fifth of the time is spent on looking. */
const REST_PER_LOOK = 4;
/** Rows read at a time, and at one look; more are not followed, as the list of the inspector has no place for them either. */
const PAGE = 1_000;
const MOST_OPEN = 10_000;
/** Changed generations whose steps are read at a time. */
const AT_ONCE = 100;
/**
 * What begins and ends between two looks is found by its number, which its node gave it by its own clock before it was committed: those of
 * this long before the last look are looked at again.
 */
const BEFORE_MS = 10_000;
const MOST_ENDED = 2_000;

type Known = Pick<Elsewhere, "accountSeq" | "version" | "epoch" | "status">;
type Wish = { seq: number; version: number; accountSeq: number | null; isNew: boolean; now: Known | null };

export const createRemoteChanges = (deps: RemoteChangesDeps): RemoteChanges => {
  const { others, clock, own } = deps;
  const followers = new Set<Follower>();
  const known = new Map<number, Known>();
  /** Those that have ended and whose numbers may still be looked at. */
  const over = new Set<number>();
  const wanted = new Map<number, number>();
  const names = new Map<number, string>();
  let mark = "";
  let nodes = 1;
  let lookedMs = 0;
  /** Raised by whoever leaves last: what is under way tells nobody any more. */
  let turn = 0;
  let first: Promise<void> = Promise.resolve();
  let takeBack: () => void = () => undefined;
  let isAway = false;

  const nameOf = (epoch: number): string => names.get(epoch) ?? `node ${epoch}`;
  const learnNames = async (epochs: Iterable<number>): Promise<void> => {
    const missing = [...new Set(epochs)].filter((epoch) => !names.has(epoch));
    if (missing.length === 0) return;
    const found = await deps.names(missing);
    for (const epoch of missing) names.set(epoch, found.get(epoch) ?? nameOf(epoch));
  };
  const want = (seq: number, version: number): void => {
    wanted.set(seq, Math.min(version, wanted.get(seq) ?? version));
  };
  const isWanted = (accountSeq: number): boolean => [...followers].some((follower) => follower.wants(accountSeq));

  /** All that others have under way; up to which number it was looked at. */
  const readOpen = async (): Promise<{ found: Map<number, Elsewhere>; upTo: number }> => {
    const found = new Map<number, Elsewhere>();
    for (let afterSeq = 0; found.size < MOST_OPEN; ) {
      const page = await others.open(afterSeq, PAGE);
      for (const one of page) found.set(one.seq, one);
      const last = page.at(-1);
      if (!last || page.length < PAGE) return { found, upTo: Number.POSITIVE_INFINITY };
      afterSeq = last.seq;
    }
    return { found, upTo: Math.max(...found.keys()) };
  };

  /** What differs from what was told. */
  const wishes = (found: Map<number, Elsewhere>, upTo: number, ended: Awaited<ReturnType<Others["ended"]>>): Wish[] => {
    const all: Wish[] = [];
    for (const [seq, now] of found) {
      const before = known.get(seq);
      if (before && before.version >= now.version && before.epoch === now.epoch) continue;
      all.push({ seq, version: before?.version ?? 0, accountSeq: now.accountSeq, isNew: !before, now });
    }
    for (const [seq, { version, accountSeq }] of known)
      if (!found.has(seq) && seq <= upTo) all.push({ seq, version, accountSeq, isNew: false, now: null });
    for (const { seq, accountSeq } of ended)
      if (!over.has(seq) && !known.has(seq)) all.push({ seq, version: 0, accountSeq, isNew: true, now: null });
    const there = new Set(all.map(({ seq }) => seq));
    for (const [seq, version] of wanted)
      if (!there.has(seq)) all.push({ seq, version, accountSeq: null, isNew: false, now: null });
    return all;
  };

  const note = ({ seq, now }: Wish, version: number): void => {
    if (now) known.set(seq, { ...now, version: Math.max(now.version, version) });
    else {
      known.delete(seq);
      over.add(seq);
    }
  };
  const tell = async (some: readonly Wish[], mine: number): Promise<void> => {
    const hears = some.filter(({ accountSeq }) => accountSeq === null || isWanted(accountSeq));
    const wantsSteps = [...followers].some((follower) => follower.wantsSteps !== false);
    const wantsRequests = [...followers].some((follower) => follower.wantsSteps === "with requests");
    // The steps first: what they led to is as new, or newer.
    const lines = wantsSteps && hears.length > 0 ? await others.steps(hears, wantsRequests) : [];
    const standing = hears.length > 0 ? await others.standing(hears.map(({ seq }) => seq)) : [];
    await learnNames([...standing, ...lines].map(({ epoch }) => epoch));
    if (mine !== turn) return;
    const linesOf = Map.groupBy(lines, ({ seq }) => seq);
    const standingOf = new Map(standing.map((one) => [one.record.seq, one]));
    for (const wish of some) {
      const steps = (linesOf.get(wish.seq) ?? []).map((line) => ({ ...line, node: nameOf(line.epoch) }));
      note(wish, steps.at(-1)?.version ?? wish.version);
      const stands = standingOf.get(wish.seq);
      if (!stands) continue;
      const change = { ...stands, steps, node: nameOf(stands.epoch), isNew: wish.isNew };
      for (const follower of [...followers]) if (follower.wants(stands.record.accountSeq)) follower.told(change);
    }
  };

  const read = async (mine: number, isFirst: boolean, nowMs: number): Promise<void> => {
    const fromSeq = generationSeqAt((isFirst ? nowMs : lookedMs) - BEFORE_MS);
    const { found, upTo } = await readOpen();
    const ended = await others.ended(fromSeq, MOST_ENDED);
    await learnNames([...found.values()].map(({ epoch }) => epoch));
    if (mine !== turn) return;
    for (const seq of over) if (seq < fromSeq) over.delete(seq);
    if (isFirst) {
      for (const [seq, one] of found) known.set(seq, one);
      for (const { seq } of ended) over.add(seq);
      return;
    }
    const all = wishes(found, upTo, ended);
    const asked = [...wanted];
    wanted.clear();
    try {
      for (let at = 0; at < all.length && mine === turn; at += AT_ONCE) await tell(all.slice(at, at + AT_ONCE), mine);
    } catch (fault) {
      for (const [seq, version] of asked) want(seq, version);
      throw fault;
    }
  };

  const look = async (mine: number, isFirst: boolean): Promise<void> => {
    const nowMs = clock.nowMs();
    // Before anything else is read: what is written meanwhile is found at the next look.
    const alive = await others.written();
    if (mine !== turn) return;
    const next = alive.map(({ epoch, batch }) => `${epoch}:${batch}`).join(" ");
    // What was taken over by this node has to be let go, although nobody else is there to write.
    const isStill = next === mark && wanted.size === 0 && (alive.length > 0 || known.size === 0);
    if (isFirst || !isStill) await read(mine, isFirst, nowMs);
    if (mine !== turn) return;
    mark = next;
    nodes = alive.length + 1;
    lookedMs = nowMs;
  };
  const go = async (mine: number, isFirst: boolean): Promise<void> => {
    if (mine !== turn) return;
    const startedMs = clock.nowMs();
    let isRead = false;
    try {
      await look(mine, isFirst);
      isRead = true;
      isAway = false;
    } catch (fault) {
      // Told once: the database may be away for as long as it likes; and not to nobody, who has left while the service stops.
      if (!isAway && mine === turn) deps.failed(fault);
      isAway = true;
    }
    if (mine !== turn) return;
    const restMs = Math.max(LOOK_MS, REST_PER_LOOK * (clock.nowMs() - startedMs));
    takeBack = clock.after(restMs, () => void go(mine, isFirst && !isRead));
  };

  return {
    follow: (follower) => {
      followers.add(follower);
      if (followers.size === 1) {
        turn += 1;
        first = go(turn, true);
      }
      return {
        ready: first,
        leave: () => {
          if (!followers.delete(follower) || followers.size > 0) return;
          turn += 1;
          takeBack();
          for (const all of [known, over, wanted]) all.clear();
          mark = "";
        },
      };
    },
    want,
    nodeOf: (seq) => {
      const epoch = known.get(seq)?.epoch;
      return epoch === undefined ? undefined : nameOf(epoch);
    },
    unfinished: others.unfinished,
    own,
    counts: () => {
      let queued = 0;
      for (const { status } of known.values()) if (status === "queued") queued += 1;
      return { queued, running: known.size - queued };
    },
    nodes: () => nodes,
  };
};
