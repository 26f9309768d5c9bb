// Notifications by mail: links for users, disabled webhook endpoints, and low balances.
import type { Clock } from "../domain/clock.ts";
import type { LowBalance } from "../domain/low-balance.ts";
import type { Credits } from "../domain/types.ts";
import type { UserRow } from "../store/user-reads.ts";
import type { MailKind, MailQueue } from "./queue.ts";

/** A link that sets up a user or a new password. `path`: in the console, with its token. */
export type UserLink = { kind: "invite" | "reset"; email: string; path: string; expiresAtMs: number };
export type DisabledEndpoint = { accountSeq: number; url: string; reason: string };

export type Notifications = {
  linkMade(link: UserLink): void;
  endpointDisabled(endpoint: DisabledEndpoint): void;
  balanceFell(lowBalance: LowBalance): void;
};

export type NotificationsDeps = {
  clock: Pick<Clock, "nowMs">;
  reads: { users(): Promise<UserRow[]> };
  queue: Pick<MailQueue, "add">;
  /** URL of the console's host. */
  baseUrl: () => string;
  /** Called if the recipients cannot be read. */
  failed: (fault: unknown) => void;
};

const DAY_MS = 86_400_000;
/** Accounts whose last mail is remembered. */
const MAX_REMEMBERED = 10_000;

const usd = (credits: Credits): string => `${(credits / 100).toFixed(2)} USD`;
const day = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const LINK_TEXTS = {
  invite: { kind: "invitation", subject: "Your invitation to genrouter", does: "creates your user" },
  reset: { kind: "password", subject: "Your new genrouter password", does: "sets a new password and ends your sessions" },
} as const;

/** True at most once a day for an account, because a balance near its threshold crosses it often. */
const createDaily = ({ nowMs }: Pick<Clock, "nowMs">) => {
  const last = new Map<number, number>();
  return (accountSeq: number): boolean => {
    const atMs = nowMs();
    if (atMs - (last.get(accountSeq) ?? Number.NEGATIVE_INFINITY) < DAY_MS) return false;
    if (last.size >= MAX_REMEMBERED) last.clear();
    last.set(accountSeq, atMs);
    return true;
  };
};

export const createNotifications = ({ clock, reads, queue, baseUrl, failed }: NotificationsDeps): Notifications => {
  const isFirstToday = createDaily(clock);
  /** To each enabled user of an account. */
  const notify = async (accountSeq: number, kind: MailKind, subject: string, text: string): Promise<void> => {
    for (const user of await reads.users())
      if (user.accountSeq === accountSeq && user.disabledAtMs === null) queue.add({ kind, to: user.email, subject, text });
  };
  return {
    linkMade: ({ kind, email, path, expiresAtMs }) => {
      const { does, ...mail } = LINK_TEXTS[kind];
      const text = `This link ${does}. It works once, until ${day(expiresAtMs)}:\n\n${baseUrl()}${path}\n\nIf you did not expect this mail, ignore it.\n`;
      queue.add({ ...mail, to: email, text });
    },
    endpointDisabled: ({ accountSeq, url, reason }) => {
      const text = `genrouter has disabled the webhook endpoint ${url}: ${reason}.\n\nIts events are not sent any more. Correct the receiver, enable the endpoint again (PATCH /v1/webhook_endpoints/{id} with "enabled": true), and send what was missed (POST /v1/webhook_endpoints/{id}/recover).\n`;
      notify(accountSeq, "webhook_disabled", "A webhook endpoint was disabled", text).catch(failed);
    },
    balanceFell: ({ accountSeq, availableCredits, thresholdCredits }) => {
      if (!isFirstToday(accountSeq)) return;
      const text = `${usd(availableCredits)} are available, less than ${usd(thresholdCredits)}. Submissions are rejected when the available credits do not cover them.\n\nAdd credits, or change this threshold: ${baseUrl()}/console/credits\n`;
      notify(accountSeq, "low_balance", "Your genrouter balance is low", text).catch(failed);
    },
  };
};

/** Without mail settings nothing is sent. */
export const NO_NOTIFICATIONS: Notifications = {
  linkMade: () => undefined,
  endpointDisabled: () => undefined,
  balanceFell: () => undefined,
};
