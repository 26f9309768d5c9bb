// Calls every read of the store port, so that two stores can be compared.
import type { StoreReads } from "../../src/store/store.ts";
import { NOW_MS } from "../store/fixture.ts";
import { ENDED_UPLOAD, INVITATION, OPEN_UPLOAD, SESSION } from "./fixture.ts";

type Known = {
  /** Of generations, oldest first. */
  ids: readonly string[];
  seqs: readonly number[];
  accounts: readonly { id: string; seq: number }[];
};
type Asked = {
  [Name in Exclude<keyof StoreReads, "close" | "verify" | "nodes">]: (reads: StoreReads, known: Known) => Promise<unknown>;
};

const each = <T, Answer>(all: readonly T[], ask: (one: T) => Promise<Answer>): Promise<Answer[]> => Promise.all(all.map(ask));
const MANY = 1000;
const ALL = { accountSeq: null, fromMs: null, toMs: null, status: null, models: null, keyId: null, from: null } as const;

const idsOfFiles = async (reads: StoreReads, { accounts }: Known): Promise<string[]> =>
  (await each(accounts, ({ seq }) => reads.uploadedFiles(seq, null, 0, MANY))).flat().map(({ id }) => id);

/** One entry for every read: the compiler reports a read that is missing here. */
const ASKED: Asked = {
  callerByKeyHash: (reads) => reads.callerByKeyHash("0".repeat(64)),
  generationById: (reads, { ids, accounts }) => each(ids, (id) => each(accounts, ({ seq }) => reads.generationById(id, seq))),
  generationByKey: (reads, { accounts }) =>
    each(accounts, ({ seq }) => each(["k1", "k2", "opening 0"], (key) => reads.generationByKey(seq, key))),
  generationBySeq: (reads, { seqs }) => each(seqs, (seq) => reads.generationBySeq(seq)),
  orderedOf: (reads, { seqs }) => each(seqs, (seq) => reads.orderedOf(seq)),
  inputOf: (reads, { seqs }) => each(seqs, (seq) => reads.inputOf(seq)),
  attempt: (reads, { seqs }) => each(seqs, (seq) => reads.attempt(seq, 1)),
  attemptsOf: (reads, { seqs }) => each(seqs, (seq) => reads.attemptsOf(seq)),
  eventsOf: (reads, { seqs }) => each(seqs, (seq) => reads.eventsOf(seq)),
  snapshotOf: (reads, { seqs }) => each(seqs, (seq) => reads.snapshotOf(seq)),
  planOf: (reads, { seqs }) => each(seqs, (seq) => reads.planOf(seq)),
  unfinished: (reads) => reads.unfinished(0, MANY),
  watchedAttempts: (reads) => reads.watchedAttempts(0, MANY),
  sentTo: (reads) => reads.sentTo("fal", 0),
  orphans: (reads) => reads.orphans(0),
  recentDeliveries: (reads) => reads.recentDeliveries(MANY),
  routeHealth: (reads) => reads.routeHealth(),
  switchedOff: (reads) => reads.switchedOff(),
  providerKeys: (reads) => reads.providerKeys(),
  pinsOf: (reads, { seqs }) => each(seqs, (seq) => reads.pinsOf(seq)),
  spentPins: (reads) => reads.spentPins(MANY),
  pendingFileRemovals: (reads) => reads.pendingFileRemovals(MANY),
  isFileRemovalPending: (reads, { seqs }) => each(seqs, (seq) => reads.isFileRemovalPending(seq)),
  accountsErasedAtEnd: (reads) => reads.accountsErasedAtEnd(),
  dueErasures: async (reads) =>
    (await reads.dueErasures({ nowMs: NOW_MS * 2, service: 0, fromAccount: 0, limit: MANY })).due
      .map(({ seq }) => seq)
      .sort((one, other) => one - other),
  uploadedFile: async (reads, known) => each(await idsOfFiles(reads, known), (id) => reads.uploadedFile(id)),
  uploadedFiles: (reads, { accounts }) => each(accounts, ({ seq }) => reads.uploadedFiles(seq, null, 0, MANY)),
  uploadedFileSeq: async (reads, { accounts, ...known }) => {
    const ids = await idsOfFiles(reads, { accounts, ...known });
    return each(accounts, ({ seq }) => each(ids, (id) => reads.uploadedFileSeq(id, seq)));
  },
  uploadedBytes: (reads, { accounts }) => each(accounts, ({ seq }) => reads.uploadedBytes(seq)),
  blob: async (reads) => each(await reads.retiredBlobs(MANY), ({ id }) => reads.blob(id)),
  retiredBlobs: (reads) => reads.retiredBlobs(MANY),
  leftBlobs: (reads) => reads.leftBlobs(NOW_MS * 2, MANY),
  forgettableFiles: (reads) => reads.forgettableFiles(NOW_MS * 2, MANY),
  expiredUploads: (reads) => reads.expiredUploads(NOW_MS * 2, MANY),
  resumableUpload: (reads) => each([OPEN_UPLOAD, ENDED_UPLOAD], (id) => reads.resumableUpload(id)),
  uploadParts: async (reads) => {
    const upload = await reads.resumableUpload(OPEN_UPLOAD);
    return reads.uploadParts(upload?.seq ?? 0);
  },
  uploadPart: async (reads) => each(await reads.removableParts(NOW_MS * 2, MANY), ({ id }) => reads.uploadPart(id)),
  removableParts: (reads) => reads.removableParts(NOW_MS * 2, MANY),
  expiredResumableUploads: (reads) => reads.expiredResumableUploads(NOW_MS * 2, MANY),
  forgettableUploads: (reads) => reads.forgettableUploads(NOW_MS * 2, MANY),
  inputFilesOf: (reads, { seqs }) => each(seqs, (seq) => reads.inputFilesOf(seq)),
  expiredFiles: (reads) => reads.expiredFiles(NOW_MS * 2, MANY),
  keptOutputs: (reads) => reads.keptOutputs(0, 0, MANY),
  jobOwner: (reads, { seqs }) => each(seqs, (seq) => reads.jobOwner("fal", `job-${seq}-1`)),
  accounts: (reads) => reads.accounts(),
  account: (reads, { accounts }) => each(accounts, ({ id }) => reads.account(id)),
  searchAccounts: (reads) =>
    each(["all", "paused", "owing", "busy"] as const, (standing) =>
      reads.searchAccounts({ text: "", standing, beforeSeq: null }, MANY),
    ),
  lastOutcomes: (reads) => reads.lastOutcomes(MANY),
  healthChangedAt: (reads) => reads.healthChangedAt(),
  parked: (reads) => reads.parked(MANY),
  key: async (reads) =>
    each(
      (await reads.keys()).map(({ id }) => id),
      (id) => reads.key(id),
    ),
  keys: (reads) => reads.keys(),
  keySpend: (reads) => reads.keySpend(NOW_MS + 5000),
  keyWindows: async (reads) =>
    each(
      (await reads.keys()).map(({ id }) => id),
      (id) => reads.keyWindows(id, NOW_MS + 5000),
    ),
  usage: (reads) =>
    each(["day", "model", "account", "key"] as const, (by) => reads.usage({ fromDay: 0, toDay: 99_999, accountId: null, by })),
  outcomes: (reads) => each(["hour", "day", "route"] as const, (by) => reads.outcomes({ fromHour: 0, toHour: 9_999_999, by })),
  endUser: (reads, { accounts }) => each(accounts, ({ seq }) => reads.endUser(seq, "ada", NOW_MS + 5000)),
  endUsers: (reads, { accounts }) => each(accounts, ({ seq }) => reads.endUsers(seq, NOW_MS + 5000, null, MANY)),
  endUserUsage: (reads, { accounts }) =>
    each(accounts, ({ seq }) =>
      reads.endUserUsage({ accountSeq: seq, fromDay: 0, toDay: 99_999, beforeSeq: null, limit: MANY, maxExamined: MANY }),
    ),
  usageByDay: (reads) =>
    reads.usageByDay({ fromDay: 0, toDay: 99_999, accountId: null, by: "model" }, ["vidmodel-2.0", "vidmodel-2.0-fast"]),
  endUserDays: (reads, { accounts }) =>
    each(accounts, ({ seq }) => reads.endUserDays({ accountSeq: seq, seqs: [1, 2, 3], fromDay: 0, toDay: 99_999 })),
  usageBehind: (reads) => reads.usageBehind(),
  transfers: (reads, { accounts }) => each(accounts, ({ id }) => reads.transfers(id, null, MANY)),
  ledgerGenerations: async (reads, { seqs }) => [...(await reads.ledgerGenerations(seqs))],
  transfersOf: (reads, { seqs }) => each(seqs, (seq) => reads.transfersOf(seq)),
  openGenerations: (reads) => reads.openGenerations(0, MANY),
  ledgerTotals: (reads) => reads.ledgerTotals({ upToSeq: 0, putCredits: 0, capturedCredits: 0 }, MANY),
  keptFiles: (reads) => reads.keptFiles({ expireAtMs: 0, seq: 0 }, MANY),
  generationsStep: (reads, { accounts }) =>
    Promise.all([
      reads.generationsStep({ ...ALL, limit: MANY, maxExamined: MANY }),
      ...accounts.flatMap(({ seq: accountSeq }) =>
        ["7", "8"].map((order) =>
          reads.generationsStep({ ...ALL, accountSeq, metadata: [["order", order]], limit: MANY, maxExamined: MANY }),
        ),
      ),
    ]),
  endedAmong: (reads, { seqs }) => reads.endedAmong(seqs),
  versionsAmong: (reads, { seqs }) => reads.versionsAmong(seqs),
  activityAmong: (reads, { accounts }) => reads.activityAmong(accounts.map(({ seq }) => seq)),
  findGeneration: (reads, { ids }) => each(ids, (id) => reads.findGeneration(id)),
  lastSeenMs: (reads) => reads.lastSeenMs(),
  restored: (reads) => reads.restored(),
  recoveryNote: (reads) => reads.recoveryNote(),
  secret: (reads) => reads.secret("links"),
  mode: (reads) => reads.mode(),
  sessionByHash: (reads) => reads.sessionByHash(SESSION),
  userByEmail: (reads) => reads.userByEmail("ada@example.com"),
  users: (reads) => reads.users(),
  usersOf: (reads, { accounts }) => each(accounts, ({ seq }) => reads.usersOf(seq)),
  countUsers: (reads, { accounts }) => each(accounts, ({ seq }) => reads.countUsers(seq, MANY)),
  sessionsOf: async (reads) => each(await reads.users(), ({ id }) => reads.sessionsOf(id)),
  invitationByHash: (reads) => reads.invitationByHash(INVITATION),
  invitations: (reads) => reads.invitations(),
  operators: (reads) => reads.operators(),
  consoleCaller: (reads, { accounts }) => each(accounts, ({ seq }) => reads.consoleCaller(seq)),
  audit: (reads) => reads.audit(null, MANY, {}),
  purchase: (reads) => each(["pur_a", "pur_b", "pur_c"], (id) => reads.purchase(id)),
  purchases: (reads) => reads.purchases(null, null, MANY),
  openPurchases: (reads) => reads.openPurchases(NOW_MS * 2, MANY),
  mismatchedPurchases: (reads) => reads.mismatchedPurchases(0, MANY),
  unsettledDebts: (reads) => reads.unsettledDebts(MANY),
  undecidedReversals: (reads) => reads.undecidedReversals(MANY),
  uninvoicedPurchases: (reads) => reads.uninvoicedPurchases(0, MANY),
  purchasesOfTransfers: (reads) => reads.purchasesOfTransfers(Array.from({ length: MANY }, (_, n) => n)),
  countOpenPurchases: (reads, { accounts }) => each(accounts, ({ seq }) => reads.countOpenPurchases(seq, NOW_MS)),
  webhookEndpoints: (reads, { accounts }) => each(accounts, ({ seq }) => reads.webhookEndpoints(seq)),
  webhookEndpoint: (reads) => each([1, 2], (seq) => reads.webhookEndpoint(seq)),
  defaultWebhookSecret: (reads, { accounts }) => each(accounts, ({ seq }) => reads.defaultWebhookSecret(seq)),
  webhookLanes: (reads) => reads.webhookLanes(),
  nextWebhooks: (reads) => reads.nextWebhooks(1, MANY),
  webhookDeliveries: (reads, { accounts }) => each(accounts, ({ seq }) => reads.webhookDeliveries(seq, null, MANY)),
  webhookDelivery: (reads, { accounts }) =>
    each(accounts, async ({ seq }) =>
      each(await reads.webhookDeliveries(seq, null, MANY), (row) => reads.webhookDelivery(seq, row.seq)),
    ),
  webhookEvent: (reads, { accounts }) =>
    each(accounts, async ({ seq }) =>
      each(await reads.webhookDeliveries(seq, null, MANY), (row) => reads.webhookEvent(seq, row.seq)),
    ),
  webhookOutcomes: (reads, { accounts }) => each(accounts, ({ seq }) => reads.webhookOutcomes(seq, MANY)),
  adjustmentsOfTransfers: async (reads, { accounts }) =>
    each(accounts, async ({ id }) => reads.adjustmentsOfTransfers((await reads.transfers(id, null, MANY)).map(({ seq }) => seq))),
  spendAlert: (reads, { accounts }) => each(accounts, ({ seq }) => reads.spendAlert(seq)),
  monthSpend: (reads, { accounts }) => each(accounts, ({ seq }) => reads.monthSpend(seq, NOW_MS)),
  lowBalance: (reads, { accounts }) => each(accounts, ({ seq }) => reads.lowBalance(seq)),
};

/** The result of every read of a store. */
export const readAll = async (reads: StoreReads): Promise<Record<string, unknown>> => {
  const accounts = await reads.accounts();
  const { found } = await reads.generationsStep({ ...ALL, limit: MANY, maxExamined: MANY });
  const records = found.map(({ record }) => record).toReversed();
  const known = { accounts, ids: records.map(({ id }) => id), seqs: records.map(({ seq }) => seq) };
  const answers = await each(Object.entries(ASKED), async ([name, ask]) => [name, await ask(reads, known)] as const);
  return Object.fromEntries(answers);
};
