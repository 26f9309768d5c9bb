// Reads changes of other nodes' generations while viewers are connected, and reports them like local commits.
import type { Clock } from "../domain/clock.ts";
import { generationSeqAt } from "../domain/ids.ts";
import type { NodeReads, Others, RemoteGeneration, RemoteGenerationState, WrittenLine } from "../store/cluster-port.ts";

/** The change of a remote generation since the last report. */
export type RemoteChange = RemoteGeneration & {
  /** Name of the node that owns it. */
  node: string;
  /** The events since then, oldest first, each with the name of its node; empty if no listener requests them. */
  steps: readonly (WrittenLine & { node: string })[];
  /** It is reported for the first time. */
  isNew: boolean;
};
export type Follower = {
  onReport: (change: RemoteChange) => void;
  /** Whether events are requested, or only their result; "with requests" includes provider requests, which contain prompts. */
  wantsSteps: boolean | "with requests";
  /** Whether generations of an account are requested. */
  wants: (accountSeq: number) => boolean;
};
export type Following = {
  /** Resolves when every later write will be reported. */
  ready: Promise<void>;
  leave: () => void;
};
export type RemoteChanges = {
  follow(follower: Follower): Following;
  /** Requests a report at the next read for a generation whose events after `version` were missed, whichever node owns it. */
  want(seq: number, version: number): void;
  /** The node that owns a generation, if it is another node and the generation is open. */
  nodeOf(seq: number): string | undefined;
  /** Open generations of all nodes; `unfinished` of the store returns those of this node. */
  unfinished: Others["unfinished"];
  /** Name of this node. */
  own: string;
  /** Open generations of other nodes at the last read. */
  counts(): { queued: number; running: number };
  /** Live nodes at the last read, including this one. */
  nodes(): number;
};

export type RemoteChangesDeps = {
  others: Pick<Others, "written" | "open" | "ended" | "steps" | "standing" | "unfinished">;
  names: NodeReads["names"];
  own: string;
  clock: Clock;
  failed: (fault: unknown) => void;
};

const POLL_MS = 500;
/** A slow read is followed by a longer pause, so that reads take at most a fifth of the time. */
const REST_PER_LOOK = 4;
/** Rows per query and per read. The list of the inspector holds no more rows either. */
const PAGE = 1_000;
const MAX_OPEN = 10_000;
/** Changed generations whose events are read together. */
const AT_ONCE = 100;
/**
 * Overlap in milliseconds. A generation that begins and ends between two reads is found by its id, which its node created before
 * the commit, so ids of this time before the last read are read again.
 */
const BEFORE_MS = 10_000;
const MAX_ENDED = 2_000;

type Known = Pick<RemoteGenerationState, "accountSeq" | "version" | "epoch" | "status">;
type ChangeToRead = { seq: number; version: number; accountSeq: number | null; isNew: boolean; now: Known | null };

export const createRemoteChanges = (deps: RemoteChangesDeps): RemoteChanges => {
  const { others, clock, own } = deps;
  const followers = new Set<Follower>();
  const known = new Map<number, Known>();
  /** Ended generations whose ids may still be in the overlap. */
  const over = new Set<number>();
  const wanted = new Map<number, number>();
  const names = new Map<number, string>();
  let mark = "";
  let nodes = 1;
  let lookedMs = 0;
  /** Incremented when the last listener leaves, so that a pending read reports nothing. */
  let turn = 0;
  let first: Promise<void> = Promise.resolve();
  let takeBack: () => void = () => undefined;
  let isUnavailable = false;

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

  /** Reads all open generations of other nodes and the id up to which it read. */
  const readOpen = async (): Promise<{ found: Map<number, RemoteGenerationState>; upTo: number }> => {
    const found = new Map<number, RemoteGenerationState>();
    for (let afterSeq = 0; found.size < MAX_OPEN; ) {
      const page = await others.open(afterSeq, PAGE);
      for (const one of page) found.set(one.seq, one);
      const last = page.at(-1);
      if (!last || page.length < PAGE) return { found, upTo: Number.POSITIVE_INFINITY };
      afterSeq = last.seq;
    }
    return { found, upTo: Math.max(...found.keys()) };
  };

  /** Computes the changes since the last report. */
  const changesToRead = (
    found: Map<number, RemoteGenerationState>,
    upTo: number,
    ended: Awaited<ReturnType<Others["ended"]>>,
  ): ChangeToRead[] => {
    const all: ChangeToRead[] = [];
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

  const note = ({ seq, now }: ChangeToRead, version: number): void => {
    if (now) known.set(seq, { ...now, version: Math.max(now.version, version) });
    else {
      known.delete(seq);
      over.add(seq);
    }
  };
  const report = async (some: readonly ChangeToRead[], mine: number): Promise<void> => {
    const hears = some.filter(({ accountSeq }) => accountSeq === null || isWanted(accountSeq));
    const wantsSteps = [...followers].some((follower) => follower.wantsSteps !== false);
    const wantsRequests = [...followers].some((follower) => follower.wantsSteps === "with requests");
    // Events are read first, so the record is as new or newer.
    const lines = wantsSteps && hears.length > 0 ? await others.steps(hears, wantsRequests) : [];
    const standing = hears.length > 0 ? await others.standing(hears.map(({ seq }) => seq)) : [];
    await learnNames([...standing, ...lines].map(({ epoch }) => epoch));
    if (mine !== turn) return;
    const linesOf = Map.groupBy(lines, ({ seq }) => seq);
    const stateOf = new Map(standing.map((one) => [one.record.seq, one]));
    for (const request of some) {
      const steps = (linesOf.get(request.seq) ?? []).map((line) => ({ ...line, node: nameOf(line.epoch) }));
      note(request, steps.at(-1)?.version ?? request.version);
      const knownState = stateOf.get(request.seq);
      if (!knownState) continue;
      const change = { ...knownState, steps, node: nameOf(knownState.epoch), isNew: request.isNew };
      for (const follower of [...followers]) if (follower.wants(knownState.record.accountSeq)) follower.onReport(change);
    }
  };

  const read = async (mine: number, isFirst: boolean, nowMs: number): Promise<void> => {
    const fromSeq = generationSeqAt((isFirst ? nowMs : lookedMs) - BEFORE_MS);
    const { found, upTo } = await readOpen();
    const ended = await others.ended(fromSeq, MAX_ENDED);
    await learnNames([...found.values()].map(({ epoch }) => epoch));
    if (mine !== turn) return;
    for (const seq of over) if (seq < fromSeq) over.delete(seq);
    if (isFirst) {
      for (const [seq, one] of found) known.set(seq, one);
      for (const { seq } of ended) over.add(seq);
      return;
    }
    const all = changesToRead(found, upTo, ended);
    const requested = [...wanted];
    wanted.clear();
    try {
      for (let at = 0; at < all.length && mine === turn; at += AT_ONCE) await report(all.slice(at, at + AT_ONCE), mine);
    } catch (fault) {
      for (const [seq, version] of requested) want(seq, version);
      throw fault;
    }
  };

  const look = async (mine: number, isFirst: boolean): Promise<void> => {
    const nowMs = clock.nowMs();
    // Read before everything else: later writes are found by the next read.
    const alive = await others.written();
    if (mine !== turn) return;
    const next = alive.map(({ epoch, batch }) => `${epoch}:${batch}`).join(" ");
    // Generations that this node reclaimed must be removed, even if no other node is left.
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
      isUnavailable = false;
    } catch (fault) {
      // Reported once, however long the database is unavailable, and never after the last listener left.
      if (!isUnavailable && mine === turn) deps.failed(fault);
      isUnavailable = true;
    }
    if (mine !== turn) return;
    const restMs = Math.max(POLL_MS, REST_PER_LOOK * (clock.nowMs() - startedMs));
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
