// Writes of a group, sent table by table in the order of their references.

import { firstVersionOf, type Settlement } from "../../domain/transition.ts";
import type { Credits, GenerationRecord, InputFile, PinnedCopy, PinRequest } from "../../domain/types.ts";
import type { AttemptWrites } from "../decide/attempt-writes.ts";
import type { NewDelivery } from "../decide/deliveries.ts";
import { type EndUserHold, type EndUserSettlement, endUserTerm } from "../sql/end-users.ts";
import type { Spend } from "../sql/key-policy.ts";
import type { Chained, Head, Link } from "../sql/ledger.ts";
import { metadataTerm } from "../sql/metadata-term.ts";
import type { PackedAdmit, PackedStep } from "../sql/serialized-mutations.ts";
import type { Connection } from "./connections.ts";
import {
  COUNT_END_USER_ENDS,
  DROP_SNAPSHOTS,
  END_GENERATIONS,
  HOLD_FOR_END_USERS,
  INSERT_ATTEMPTS,
  INSERT_DELIVERIES,
  INSERT_END_USERS,
  INSERT_GENERATION_EVENTS,
  INSERT_GENERATIONS,
  INSERT_INPUT_FILES,
  INSERT_METADATA,
  INSERT_OPTIONS,
  INSERT_PINS,
  INSERT_PLANS,
  INSERT_REQUESTS,
  INSERT_SNAPSHOTS,
  INSERT_TRANSFERS,
  INSERT_WEBHOOK_URLS,
  PIN_INPUTS,
  RETURN_TO_END_USERS,
  SPEND,
  TAKE_BACK,
  UPDATE_ATTEMPTS,
  UPDATE_BALANCES,
  UPDATE_GENERATIONS,
  UPDATE_SNAPSHOTS,
  USE_FILES,
} from "./statements.ts";

export type Writes = {
  generations: { mutation: PackedAdmit; held: Chained; epoch: number }[];
  journal: { seq: number; version: number; atMs: number; epoch: number; stateAfter: string; eventJson: string }[];
  attempts: { seq: number; row: AttemptWrites }[];
  transfers: { seq: number; accountSeq: number; previous: number | null; link: Link; hash: string; epoch: number }[];
  pins: { seq: number; pin: PinRequest }[];
  pinned: { seq: number; copy: PinnedCopy; atMs: number }[];
  /** Stored files that an input names; `expireAtMs`: the new expiry of an uploaded one. */
  files: { seq: number; file: InputFile; atMs: number; expireAtMs: number }[];
  /** Ended and continued generations. */
  ended: { record: GenerationRecord; settlement: Settlement }[];
  changed: GenerationRecord[];
  /** By account; `from`: position in the chain before the group. */
  balances: Map<number, { from: number; head: Head; chargedCredits: Credits }>;
  snapshots: PackedStep[];
  spends: Spend[];
  endUserHolds: { accountSeq: number; createdAtMs: number; hold: EndUserHold }[];
  endUserSettlements: EndUserSettlement[];
  /** Addresses that submissions name, and rows of the outbox. */
  webhookUrls: { seq: number; url: string }[];
  deliveries: { delivery: NewDelivery; epoch: number }[];
};

export const emptyWrites = (): Writes => ({
  ...{ generations: [], journal: [], attempts: [], transfers: [], pins: [], pinned: [], files: [] },
  ...{
    ended: [],
    changed: [],
    snapshots: [],
    spends: [],
    endUserHolds: [],
    endUserSettlements: [],
    webhookUrls: [],
    deliveries: [],
  },
  balances: new Map(),
});

const sha256 = (text: string): string => Bun.SHA256.hash(text, "hex");
/** PostgreSQL cannot store JSON with a NUL or an unpaired surrogate, which provider messages may contain. */
export const readable = (_: string, value: unknown): unknown =>
  typeof value === "string" ? value.toWellFormed().replaceAll("\0", "\ufffd") : value;
/** Their JSON escapes. Most texts have none and are not converted. */
const UNREADABLE = /\\u(0000|d[89a-f])/;
export const readableJson = (value: unknown): string => {
  const text = JSON.stringify(value);
  return UNREADABLE.test(text) ? JSON.stringify(value, readable) : text;
};
const json = (value: unknown): string | null => (value === undefined ? null : readableJson(value));

type Row = Record<string, string | number | boolean | null>;
const defined = (members: Record<string, string | number | boolean | null | undefined>): Row =>
  Object.fromEntries(Object.entries(members).filter((member): member is [string, Row[string]] => member[1] !== undefined));

/** Merges the changes of one attempt into one row, because a statement can change a row only once. */
export const changedAttempts = (attempts: Writes["attempts"]): Row[] => {
  const rows = new Map<string, Row>();
  for (const { seq, row } of attempts) {
    const { n, columns } = row;
    if (!columns) continue;
    const { state, sentAtMs, endsAtMs, job, results, failure, watchUntilMs, endedAtMs } = columns;
    const changed = defined({
      ...{ seq, n, state, sent_at: sentAtMs, ends_at: endsAtMs, job: job?.jobId, urls: json(job?.urls) },
      ...{ results: json(results), failure: json(failure), ended_at: endedAtMs },
      ...(watchUntilMs === undefined ? {} : { sets_watch: true, watch_until: watchUntilMs }),
    });
    rows.set(`${seq} ${n}`, { ...rows.get(`${seq} ${n}`), ...changed });
  }
  return [...rows.values()];
};

const begunAttempts = (attempts: Writes["attempts"]): Row[] =>
  attempts.flatMap(({ seq, row: { n, begin } }) => {
    if (!begin) return [];
    const { ref, route, priceCredits } = begin;
    const options_hash = sha256(JSON.stringify(route.options));
    const { routeId, provider, endpoint, kind } = route;
    return [{ seq, n, ref, route: routeId, provider, endpoint, options_hash, kind, price: priceCredits }];
  });

const admitted = ({ generations }: Writes): Row[] =>
  generations.map(({ mutation, held: { link, hash, head }, epoch }) => ({
    ...{
      seq: mutation.seq,
      account: mutation.accountSeq,
      id: mutation.id,
      model: mutation.model,
      quoted: mutation.quotedCredits,
    },
    ...{
      reserved: mutation.reservedCredits,
      created_at: mutation.createdAtMs,
      wait_ends_at: mutation.waitEndsAtMs,
      key: mutation.idempotencyKey,
    },
    ...{ chain: link.chainSeq, previous: head.chainEnd, available: link.availableAfter, held: link.heldAfter, epoch, hash },
    ...{
      key_seq: mutation.keySeq,
      max_cost: mutation.maxCostCredits,
      request: mutation.requestId,
      plan_hash: sha256(mutation.planJson),
    },
    ...{ body: mutation.body, added: mutation.addedJson, ordered: mutation.orderedJson },
    labels: json(mutation.labels),
    end_user: typeof mutation.labels?.endUser === "string" ? endUserTerm(mutation.labels.endUser) : null,
  }));

const journaled = ({ journal }: Writes): Row[] =>
  journal.map(({ seq, version, atMs: at, epoch, stateAfter: state, eventJson: event }) => ({
    ...{ seq, version, at, epoch, state, event },
  }));

const labelled = ({ generations }: Writes): Row[] =>
  generations.flatMap(({ mutation: { seq, accountSeq: account, labels } }) =>
    Object.entries(labels?.metadata ?? {}).map(([label, text]) => {
      const [name, value] = metadataTerm(label, text);
      return { account, name, value, seq };
    }),
  );
const takenFiles = ({ files }: Writes): Row[] =>
  files.map(({ seq, file: { n, field, kind, fileSeq, sourceSeq, storageId, fileNo, object, sha256, bytes, mime } }) => ({
    ...{ seq, n, field, kind, file: fileSeq, source: sourceSeq, storage: storageId, file_no: fileNo, object: object ?? null },
    ...{ sha256, bytes, mime },
  }));

/** One row for each uploaded file, because a statement can change a row only once. */
const usedFiles = ({ files }: Writes): Row[] => {
  const used = new Map<number, { file: number; at: number; expire_at: number }>();
  for (const { file, atMs, expireAtMs } of files) {
    const { fileSeq } = file;
    if (fileSeq === null) continue;
    const known = used.get(fileSeq);
    used.set(fileSeq, {
      file: fileSeq,
      at: Math.max(atMs, known?.at ?? 0),
      expire_at: Math.max(expireAtMs, known?.expire_at ?? 0),
    });
  }
  return [...used.values()];
};

const posted = ({ transfers }: Writes): Row[] =>
  transfers.map(({ seq, accountSeq, previous, link, hash, epoch }) => ({
    ...{ seq, account: accountSeq, chain: link.chainSeq, previous, kind: link.kind, credits: link.credits, from_side: link.from },
    ...{
      to_side: link.to,
      generation: link.generationSeq,
      n: link.attemptN,
      available: link.availableAfter,
      held: link.heldAfter,
    },
    ...{ at: link.atMs, epoch, hash, note: link.note },
  }));

const ended = ({ ended }: Writes): Row[] =>
  ended.map(({ record, settlement }) => ({
    ...{ seq: record.seq, status: record.status, attempts: record.attempts, cost: record.costCredits },
    output: settlement.kind === "capture" ? json(settlement.output) : null,
    error: settlement.kind === "release" ? json(settlement.error) : null,
    completed_at: record.completedAtMs,
    expire_at: settlement.kind === "capture" ? settlement.filesExpireAtMs : null,
  }));

const balanced = ({ balances }: Writes): Row[] =>
  [...balances].map(([account, { from, head, chargedCredits }]) => ({
    ...{ account, available: head.availableCredits, held: head.heldCredits, charged: chargedCredits, progress: head.inProgress },
    ...{ chain: head.chainSeq, last_transfer_seq: head.chainEnd, from_chain: from },
  }));

const kept = (steps: readonly PackedStep[]): Row[] =>
  steps.map((step) => {
    const { seq, version, stateAfter: state, snapshot, deadline } = step;
    return defined({
      ...{ seq, version, from_version: firstVersionOf(step) - 1, state, snapshot },
      ...(deadline === undefined
        ? {}
        : { sets_due: true, deadline_kind: deadline?.kind, deadline_attempt_no: deadline?.n, due_at: deadline?.dueAtMs }),
    });
  });

const outboxRows = ({ deliveries }: Writes): Row[] =>
  deliveries.map(
    ({ delivery: { seq, token, accountSeq, endpointSeq, type, generationSeq, data, sequence, createdAtMs }, epoch }) => ({
      ...{ seq, token, account: accountSeq, endpoint: endpointSeq, type, generation: generationSeq, data, sequence },
      ...{ at: createdAtMs, epoch },
    }),
  );

/** Sums the changes of spend limits by day. */
const spent = (spends: Writes["spends"]): { added: Row[]; back: Row[] } => {
  const sums = new Map<string, { meter: number; day: number; credits: number }>();
  for (const { meterSeq: meter, day, credits } of spends) {
    const name = `${meter} ${day}`;
    sums.set(name, { meter, day, credits: (sums.get(name)?.credits ?? 0) + credits });
  }
  const all = [...sums.values()];
  return {
    added: all.filter(({ credits }) => credits > 0),
    back: all.filter(({ credits }) => credits < 0).map((one) => ({ ...one, credits: -one.credits })),
  };
};

/** Sums rows with the same key, because a statement can change a row only once; in the order of the keys on all nodes. */
const summed = <Key extends string, Sum extends string>(
  rows: readonly Record<Key | Sum, string | number>[],
  keys: readonly Key[],
  sums: readonly Sum[],
): Row[] => {
  const known = new Map<string, Record<string, string | number>>();
  for (const row of rows) {
    const name = keys.map((key) => row[key]).join(" ");
    const before = known.get(name);
    const added = sums.map((sum): [string, number] => [sum, Number(row[sum]) + Number(before?.[sum] ?? 0)]);
    known.set(name, { ...row, ...Object.fromEntries(added) });
  }
  return [...known].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
};

const endUserRows = ({ endUserHolds, endUserSettlements }: Writes) => ({
  named: summed(
    endUserHolds.map(({ accountSeq: account, createdAtMs: at, hold: { endUser: name } }) => ({
      ...{ account, name, term: endUserTerm(name), at },
    })),
    ["account", "term"],
    [],
  ),
  held: summed(
    endUserHolds.map(({ accountSeq: account, hold: { endUser, day, credits } }) => ({
      ...{ account, day, term: endUserTerm(endUser), credits },
    })),
    ["account", "day", "term"],
    ["credits"],
  ),
  ended: summed(
    endUserSettlements.map(({ endUserSeq: end_user, endDay: day, succeeded, failed, chargedCredits: charged }) => ({
      ...{ end_user, day, succeeded, failed, charged },
    })),
    ["end_user", "day"],
    ["succeeded", "failed", "charged"],
  ),
  returned: summed(
    endUserSettlements.map(({ endUserSeq: end_user, submittedDay: day, releasedCredits: released, heldCredits: held }) => ({
      ...{ end_user, day, released, held },
    })),
    ["end_user", "day"],
    ["released", "held"],
  ),
});

/** Sends the writes one after another without waiting. */
export const sendWrites = (connection: Connection, writes: Writes): Promise<unknown>[] => {
  const { generations, attempts, changed, snapshots, spends } = writes;
  const send = (sql: string, rows: readonly Row[]): Promise<unknown>[] =>
    rows.length === 0 ? [] : [connection.send(sql, JSON.stringify(rows), ...(sql.includes("?2") ? [rows.length] : []))];
  const texts = (all: readonly string[]): Row[] => [...new Set(all)].map((text) => ({ hash: sha256(text), text }));
  const { added, back } = spent(spends);
  const endUsers = endUserRows(writes);
  const going = snapshots.filter(({ snapshot }) => snapshot !== null);
  return [
    ...send(INSERT_PLANS, texts(generations.map(({ mutation }) => mutation.planJson))),
    ...send(
      INSERT_OPTIONS,
      texts(attempts.flatMap(({ row: { begin } }) => (begin ? [JSON.stringify(begin.route.options)] : []))),
    ),
    ...send(INSERT_END_USERS, endUsers.named),
    ...send(INSERT_GENERATIONS, admitted(writes)),
    ...send(INSERT_GENERATION_EVENTS, journaled(writes)),
    ...send(INSERT_METADATA, labelled(writes)),
    ...send(
      INSERT_PINS,
      writes.pins.map(({ seq, pin: { n, field, kind, measuredMs, frameMs } }) => ({
        ...{ seq, n, field, kind },
        ...{ measured: measuredMs, frame: frameMs },
      })),
    ),
    ...send(
      PIN_INPUTS,
      writes.pinned.map(({ seq, copy, atMs: at }) => ({ seq, ...copy, at })),
    ),
    ...send(INSERT_INPUT_FILES, takenFiles(writes)),
    ...send(USE_FILES, usedFiles(writes)),
    ...send(INSERT_WEBHOOK_URLS, writes.webhookUrls),
    ...send(INSERT_ATTEMPTS, begunAttempts(attempts)),
    ...send(UPDATE_ATTEMPTS, changedAttempts(attempts)),
    ...send(
      INSERT_REQUESTS,
      attempts.flatMap(({ seq, row: { n, request } }) => (request === undefined ? [] : [{ seq, n, request }])),
    ),
    ...send(INSERT_TRANSFERS, posted(writes)),
    ...send(END_GENERATIONS, ended(writes)),
    ...send(
      UPDATE_GENERATIONS,
      changed.map(({ seq, status, message, attempts: tried }) => ({ seq, status, message, attempts: tried })),
    ),
    ...send(UPDATE_BALANCES, balanced(writes)),
    ...send(INSERT_SNAPSHOTS, kept(going.filter((step) => firstVersionOf(step) === 1))),
    ...send(UPDATE_SNAPSHOTS, kept(going.filter((step) => firstVersionOf(step) > 1))),
    // A generation that ends with its first transition has no snapshot.
    ...send(
      DROP_SNAPSHOTS,
      snapshots.flatMap((step) => {
        const version = firstVersionOf(step);
        return step.snapshot === null && version > 1 ? [{ seq: step.seq, from_version: version - 1 }] : [];
      }),
    ),
    ...send(INSERT_DELIVERIES, outboxRows(writes)),
    ...send(SPEND, added),
    ...send(TAKE_BACK, back),
    ...send(HOLD_FOR_END_USERS, endUsers.held),
    ...send(RETURN_TO_END_USERS, endUsers.returned),
    ...send(COUNT_END_USER_ENDS, endUsers.ended),
  ];
};
