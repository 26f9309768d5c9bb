// Audit of a crash run: compares client log, provider log and store.
//
// The three must agree in every direction.
import { isDeepStrictEqual } from "node:util";
import { fingerprintOf } from "../../domain/idempotency.ts";
import type { Attempt, AttemptState, FailureClass, JsonObject, TransferKind } from "../../domain/types.ts";
import type { Submission } from "../../simulator/log.ts";
import { ENDING_AUDITS } from "./audit-endings.ts";
import { finalEventsReceived, WEBHOOK_AUDITS, type WebhookEvidence } from "./audit-webhooks.ts";
import type { ClientLine } from "./client-log.ts";
import type { Tenant } from "./crash-fixture.ts";
import { attemptOf, type Stored } from "./read-store.ts";
import { originOf } from "./workload.ts";

/** An invariant and its violations; empty if it is satisfied. */
export type Check = { name: string; faults: string[] };

/** The compared data. `shown`: every generation as the API returns it at the end. `balances`: in credits, by tenant. */
export type Evidence = {
  tenants: readonly Tenant[];
  client: readonly ClientLine[];
  submissions: readonly Submission[];
  stored: readonly Stored[];
  shown: ReadonlyMap<string, JsonObject>;
  balances: readonly { available: number; held: number; charged: number }[];
  /** Absent: no account had a webhook. */
  webhooks?: WebhookEvidence;
  /** Whether several nodes share the store. */
  isShared?: boolean;
};

export type Audit = (evidence: Evidence, fault: (text: string) => void) => void;

const nameOf = ({ account, key }: { account: number; key: string | null }) => `account ${account} key ${key}`;
const acksOf = (client: readonly ClientLine[]) => client.filter((line) => line.type === "ack");

/** States of an abandoned attempt for which the provider may have a job. It is then an orphan. */
const GIVEN_UP: ReadonlySet<AttemptState> = new Set(["lost", "capped", "superseded", "late"]);

/** The hash of the body that made a generation. That of an erased one follows from its fingerprint and the bodies that clients sent. */
const createBodyHash = (client: readonly ClientLine[]) => {
  const hashes = new Map(
    client.flatMap((line) => (line.type === "intent" ? [[fingerprintOf(JSON.stringify(line.body)), line.hash] as const] : [])),
  );
  return ({ bodyHash, erasedAtMs, fingerprint }: Stored): string | null =>
    erasedAtMs === null ? bodyHash : (hashes.get(fingerprint ?? "") ?? null);
};

const acknowledgedExist: Audit = ({ client, stored }, fault) => {
  const byId = new Map(stored.map((one) => [one.id, one]));
  const hashOfBody = createBodyHash(client);
  const models = new Map(client.flatMap((line) => (line.type === "intent" ? [[line.hash, line.body.model] as const] : [])));
  for (const ack of acksOf(client)) {
    if (ack.id === null) continue;
    const one = byId.get(ack.id);
    if (!one) fault(`${ack.id}: acknowledged with ${ack.status}, not stored`);
    else if (
      one.account !== ack.account ||
      one.key !== ack.key ||
      hashOfBody(one) !== ack.hash ||
      one.model !== models.get(ack.hash)
    )
      fault(`${ack.id}: acknowledged for ${nameOf(ack)}, stored for ${nameOf(one)} or with another body`);
  }
};

const oneIdPerKey: Audit = ({ client, stored }, fault) => {
  const hashOfBody = createBodyHash(client);
  const byKey = new Map<string, Stored>();
  for (const one of stored) {
    if (byKey.has(nameOf(one))) fault(`${nameOf(one)}: two generations`);
    byKey.set(nameOf(one), one);
  }
  for (const ack of acksOf(client)) {
    const one = byKey.get(nameOf(ack));
    if (ack.id !== null && one?.id !== ack.id) fault(`${nameOf(ack)}: answered ${ack.id}, stored ${one?.id}`);
    if (ack.status === 409 && (!one || hashOfBody(one) === ack.hash)) fault(`${nameOf(ack)}: 409 for its own body`);
  }
};

const nothingUnasked: Audit = ({ client, stored }, fault) => {
  const hashOfBody = createBodyHash(client);
  const requested = new Set(client.flatMap((line) => (line.type === "intent" ? [`${nameOf(line)} ${line.hash}`] : [])));
  for (const one of stored) if (!requested.has(`${nameOf(one)} ${hashOfBody(one)}`)) fault(`${one.id}: no client requested it`);
};

const allEnded: Audit = ({ stored, shown }, fault) => {
  for (const { id, status } of stored) {
    if (status !== "succeeded" && status !== "failed") fault(`${id}: still ${status}`);
    if (shown.get(id)?.status !== status) fault(`${id}: stored ${status}, shown ${JSON.stringify(shown.get(id)?.status)}`);
  }
};

const endsStay: Audit = ({ client, shown }, fault) => {
  // Byte for byte, including the order of the fields.
  for (const line of client)
    if (line.type === "seen" && JSON.stringify(line.resource) !== JSON.stringify(shown.get(line.id)))
      fault(`${line.id}: seen as ${JSON.stringify(line.resource)}, now ${JSON.stringify(shown.get(line.id))}`);
};

const chargedOnce: Audit = ({ stored, shown }, fault) => {
  for (const one of stored) {
    const delivered = one.tries.filter(({ state }) => state === "delivered");
    const isDelivered = one.status === "succeeded";
    const costCredits = isDelivered ? (delivered[0]?.priceCredits ?? -1) : 0;
    const captures = one.transfers.filter(({ kind }) => kind === "capture").length;
    if (delivered.length !== (isDelivered ? 1 : 0) || captures !== delivered.length)
      fault(`${one.id}: ${one.status} with ${delivered.length} deliveries and ${captures} captures`);
    if (one.costCredits !== costCredits || Math.round(Number(shown.get(one.id)?.cost_usd) * 100) !== costCredits)
      fault(`${one.id}: cost ${one.costCredits}, shown ${shown.get(one.id)?.cost_usd} USD, delivered at ${costCredits}`);
  }
};

const settledOnce: Audit = ({ stored }, fault) => {
  for (const { id, status, reservedCredits, costCredits, transfers } of stored) {
    const of = (wanted: TransferKind) => transfers.filter(({ kind }) => kind === wanted).map(({ credits }) => credits);
    const rest = reservedCredits - (costCredits ?? 0);
    const due = {
      hold: [reservedCredits],
      capture: status === "succeeded" ? [costCredits] : [],
      release: status === "succeeded" && rest === 0 ? [] : [rest],
    };
    const moved = { hold: of("hold"), capture: of("capture"), release: of("release") };
    if (!isDeepStrictEqual(moved, due)) fault(`${id}: moved ${JSON.stringify(moved)}, due was ${JSON.stringify(due)}`);
  }
};

/** Computed from the responses that clients received, not from the ledger. */
const conserved: Audit = ({ tenants, stored, shown, balances }, fault) => {
  for (const [account, tenant] of tenants.entries()) {
    const { available, held, charged } = balances[account] ?? { available: 0, held: 0, charged: 0 };
    const costs = stored.filter((one) => one.account === account).map(({ id }) => Number(shown.get(id)?.cost_usd ?? 0));
    const spent = costs.reduce((sum, usd) => sum + Math.round(usd * 100), 0);
    if (available + held + charged !== tenant.credits || held !== 0 || charged !== spent)
      fault(
        `account ${account}: granted ${tenant.credits}, available ${available}, held ${held}, charged ${charged}, shown ${spent}`,
      );
  }
};

/** Submissions with their attempts; reports a fault for each submission without an attempt. */
export const matched = (
  { submissions, stored }: Pick<Evidence, "submissions" | "stored">,
  fault: (text: string) => void = () => undefined,
) => {
  const byKey = new Map(stored.map((one) => [nameOf(one), one]));
  return submissions.flatMap((line) => {
    const origin = originOf(line.input);
    const one = origin && byKey.get(nameOf(origin));
    const attempt = one && attemptOf(one.tries, line);
    if (one && attempt) return [{ line, one, attempt }];
    fault(
      `${line.provider} ${line.endpoint} ${line.job_id ?? line.answer}: no attempt for this submission (${JSON.stringify(origin)})`,
    );
    return [];
  });
};

const jobsAreOwned: Audit = (evidence, fault) => {
  for (const { line, one, attempt } of matched(evidence, fault)) {
    if (line.ref !== null && line.ref !== attempt.ref) fault(`${one.id} ${attempt.n}: sent as ${line.ref}`);
    const begun = one.events.find(({ event }) => event.type === "slotTaken" && event.n === attempt.n);
    if (!begun) fault(`${one.id} ${attempt.n}: submitted, but its events have no slotTaken`);
    if (line.job_id !== null && attempt.job?.jobId !== line.job_id && !GIVEN_UP.has(attempt.state))
      fault(
        `${one.id} ${attempt.n}: job ${line.job_id} exists, the attempt is ${attempt.state} with ${attempt.job?.jobId ?? "none"}`,
      );
  }
};

/**
 * Failures of a job that ended without a result. A refusal that allowed another attempt does not describe the job of that
 * attempt.
 */
const UNPAID: ReadonlySet<FailureClass> = new Set([
  "job_failed",
  "refused_input",
  "refused_output",
  "invalid_for_route",
  "input_unreachable",
]);
const isUnpaid = ({ job, failure }: Attempt): boolean => job !== null && failure !== null && UNPAID.has(failure.class);

/** Every job of an attempt that was abandoned without proof is an orphan, so that an operator can reclaim its cost. */
const lossesAreListed: Audit = (evidence, fault) => {
  for (const { line, one, attempt } of matched(evidence, () => undefined))
    if (line.accepted && GIVEN_UP.has(attempt.state) && !isUnpaid(attempt) && !one.orphans.includes(attempt.n))
      fault(`${one.id} ${attempt.n}: ${attempt.state}, and job ${line.job_id} is not an orphan`);
  for (const one of evidence.stored)
    for (const { n, state } of one.tries)
      if (state === "delivered" && one.orphans.includes(n))
        fault(`${one.id} ${n}: delivered and charged, but listed as an orphan`);
};

/**
 * A second submission requires a response that proves that the first was not accepted. A refused connection leaves no log line.
 */
const neverTwice: Audit = (evidence, fault) => {
  const byAttempt = new Map<string, Submission[]>();
  for (const { line, attempt } of matched(evidence, () => undefined))
    byAttempt.set(attempt.ref, [...(byAttempt.get(attempt.ref) ?? []), line]);
  for (const [ref, lines] of byAttempt) {
    const jobs = lines.filter(({ accepted }) => accepted).length;
    if (jobs > 1) fault(`${ref}: ${jobs} jobs`);
    for (const line of lines.slice(0, -1))
      if (line.accepted || line.answer !== 429) fault(`${ref}: resent after ${line.accepted ? "an acceptance" : line.answer}`);
  }
};

const jobsExist: Audit = ({ submissions, stored }, fault) => {
  const byJob = new Map<string, Submission>(
    submissions.flatMap((line) => (line.job_id === null ? [] : [[`${line.provider} ${line.job_id}`, line] as const])),
  );
  const owners = new Map<string, string>();
  for (const one of stored)
    for (const attempt of one.tries) {
      if (attempt.job === null) continue;
      const name = `${attempt.route.provider} ${attempt.job.jobId}`;
      const line = byJob.get(name);
      if (!line || attemptOf([attempt], line) !== attempt) fault(`${attempt.ref}: owns ${name}, which is not of its request`);
      if (owners.has(name)) fault(`${name}: owned by ${owners.get(name)} and ${attempt.ref}`);
      owners.set(name, attempt.ref);
    }
};

const AUDITS: readonly (readonly [string, Audit])[] = [
  ["every acknowledged generation exists, with its account, model, key and body", acknowledgedExist],
  ["all responses to an idempotency key name one generation, and only another body is a conflict", oneIdPerKey],
  ["every stored generation was requested by a client", nothingUnasked],
  ["every generation ended, and the API returns its stored status", allEnded],
  ["a final resource that a client received never changes", endsStay],
  ["a generation is charged at most once, at the price of the attempt that delivered", chargedOnce],
  ["a hold is placed once and settled once: captured at the cost, the rest released", settledOnce],
  ["credits are conserved: granted = available + charged, and charged is the sum of the costs that clients received", conserved],
  ["every job of a provider belongs to an attempt whose events recorded the submission before it, or was given up", jobsAreOwned],
  ["every job of an attempt that was given up is listed as an orphan", lossesAreListed],
  ["an attempt has at most one job, and is resent only after proof that nothing was accepted", neverTwice],
  ["every job of an attempt is in the provider's log, created by the attempt's own request", jobsExist],
  ...ENDING_AUDITS,
  ...WEBHOOK_AUDITS,
];

/** These checks apply only after all generations have ended. */
const OF_THE_END: ReadonlySet<Audit> = new Set([
  ...[allEnded, chargedOnce, settledOnce, conserved, jobsAreOwned, lossesAreListed, finalEventsReceived],
]);

/** @param isCutShort not all generations had time to end, so only the checks that hold at any time run. */
export const auditAll = (evidence: Evidence, isCutShort = false): Check[] =>
  AUDITS.filter(([, audit]) => !(isCutShort && OF_THE_END.has(audit))).map(([name, audit]) => {
    const faults: string[] = [];
    audit(evidence, (text) => faults.push(text));
    return { name, faults };
  });
