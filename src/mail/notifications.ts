// Notifications by mail: links for users, disabled webhook endpoints, low balances, and spend alerts.
import type { Clock } from "../domain/clock.ts";
import type { LowBalance } from "../domain/low-balance.ts";
import type { SpendReached } from "../domain/spend-alert.ts";
import type { Credits } from "../domain/types.ts";
import { MAX_ENDPOINTS } from "../domain/webhooks.ts";
import { createNotices, type NoticesDeps } from "./notices.ts";
import { ACTION } from "./queue.ts";

/** A link that sets up a user or a new password. `path`: in the console, with its token. */
export type UserLink = { kind: "invite" | "reset"; email: string; path: string; expiresAtMs: number };
/** `id`: of the endpoint. `url`: as its account wrote it. `reason`: a sentence. */
export type DisabledEndpoint = { accountSeq: number; id: string; url: string; reason: string };

export type Notifications = {
  linkMade(link: UserLink): void;
  endpointDisabled(endpoint: DisabledEndpoint): void;
  balanceFell(lowBalance: LowBalance): void;
  spendReached(reached: SpendReached): void;
};

export type NotificationsDeps = NoticesDeps & {
  clock: Clock;
  /** URL of the console's host. */
  baseUrl: () => string;
};

const DAY_MS = 86_400_000;
/** Accounts and endpoints whose mails are remembered. */
const MAX_REMEMBERED = 10_000;
/** Maximum characters of a URL in a mail. */
const URL_CHARS = 200;

const usd = (credits: Credits): string => `${(credits / 100).toFixed(2)} USD`;
const day = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const LINK_TEXTS = {
  invite: { kind: "invitation", subject: "Your invitation to genrouter", does: "creates your user" },
  reset: { kind: "password", subject: "Your new genrouter password", does: "sets a new password and ends your sessions" },
} as const;

/** `2026-11` */
const month = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 7);

/** True at most `most` times within a day of the first of them. */
const createDaily = ({ nowMs }: Pick<Clock, "nowMs">, most: number) => {
  const days = new Map<string, { sinceMs: number; taken: number }>();
  return (key: string): boolean => {
    const atMs = nowMs();
    const known = days.get(key);
    if (known === undefined || atMs - known.sinceMs >= DAY_MS) {
      if (days.size >= MAX_REMEMBERED) days.clear();
      days.set(key, { sinceMs: atMs, taken: 1 });
      return true;
    }
    if (known.taken >= most) return false;
    known.taken += 1;
    return true;
  };
};

/** One line without spaces, whatever the account wrote. */
const shownUrl = (url: string): string => {
  const { href } = new URL(url);
  return href.length > URL_CHARS ? `${href.slice(0, URL_CHARS)}…` : href;
};

export const createNotifications = (deps: NotificationsDeps): Notifications & { stop(): void } => {
  const { clock, log, queue, baseUrl } = deps;
  const notices = createNotices(deps);
  // A balance near its threshold crosses it often, and an endpoint can be enabled again as often as its account wants.
  const isFirstLow = createDaily(clock, 1);
  const isFirstSpend = createDaily(clock, 1);
  const isFirstOfEndpoint = createDaily(clock, 1);
  const isWithinAccount = createDaily(clock, MAX_ENDPOINTS);
  return {
    linkMade: ({ kind, email, path, expiresAtMs }) => {
      const { does, ...mail } = LINK_TEXTS[kind];
      const text = `This link ${does}. It works once, until ${day(expiresAtMs)}:\n\n${baseUrl()}${path}\n\nIf you did not expect this mail, ignore it.\n`;
      if (!queue.add([{ ...mail, to: email, text, accountSeq: null }]))
        log("mail failed", { kind: mail.kind, reason: "the service stops, or too many mails are waiting", action: ACTION });
    },
    endpointDisabled: ({ accountSeq, id, url, reason }) => {
      if (!isFirstOfEndpoint(id) || !isWithinAccount(String(accountSeq))) return;
      const text = `genrouter has disabled the webhook endpoint ${shownUrl(url)}\n\n${reason} Its events are not sent any more. Correct the receiver, enable the endpoint again (PATCH /v1/webhook_endpoints/${id} with "enabled": true), and send what was missed (POST /v1/webhook_endpoints/${id}/recover).\n`;
      notices.add({ accountSeq, kind: "webhook_disabled", subject: "A webhook endpoint was disabled", text });
    },
    balanceFell: ({ accountSeq, availableCredits, thresholdCredits }) => {
      if (!isFirstLow(String(accountSeq))) return;
      const text = `${usd(availableCredits)} are available, less than ${usd(thresholdCredits)}. Submissions are rejected when the available credits do not cover them.\n\nAdd credits, or change this threshold: ${baseUrl()}/console/credits\n`;
      notices.add({ accountSeq, kind: "low_balance", subject: "Your genrouter balance is low", text });
    },
    spendReached: ({ accountSeq, monthDay, spentCredits, alertCredits }) => {
      // The store records each month once. An amount that is raised can be reached again.
      if (!isFirstSpend(`${accountSeq} ${monthDay} ${alertCredits}`)) return;
      const text = `The generations of ${month(monthDay)} (UTC) have cost ${usd(spentCredits)} so far. Your alert is set to ${usd(alertCredits)} a month. Nothing is stopped; keys have spending limits for that.\n\nSee what was spent: ${baseUrl()}/console/usage\nChange the alert: ${baseUrl()}/console/credits\n`;
      notices.add({ accountSeq, kind: "spend_alert", subject: "Your genrouter spend has reached your alert", text });
    },
    stop: notices.stop,
  };
};

/** Without mail settings nothing is sent. */
export const NO_NOTIFICATIONS: Notifications = {
  linkMade: () => undefined,
  endpointDisabled: () => undefined,
  balanceFell: () => undefined,
  spendReached: () => undefined,
};
