// Queue of mails in memory: one is sent at a time, and failures are retried with growing pauses.
//
// A mail repeats what the console shows, so it is not stored. A stop gives up what is waiting, and logs it.
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../logging/events.ts";
import type { Mail, Smtp } from "./smtp.ts";

/** What a mail is about. */
export type MailKind = "invitation" | "password" | "webhook_disabled" | "low_balance" | "spend_alert";
/** `accountSeq`: the account that a notice is about; null: a link, which a user waits for. */
export type QueuedMail = Mail & { kind: MailKind; accountSeq: number | null };

export type MailQueue = {
  /**
   * Never waits and never throws. @returns false if too many mails wait: in all, or for the account of the first. Then it takes none
   * of them.
   */
  add(mails: readonly QueuedMail[]): boolean;
  /** Gives up what waits for a retry, and waits for the mail that is being sent. */
  stop(): Promise<void>;
};

const MINUTE_MS = 60_000;
/** Pauses after each failed try; the schedule spans about two days. */
export const RETRIES_MS: readonly number[] = [1, 5, 30, 120, 360, 720, 720, 720].map((minutes) => minutes * MINUTE_MS);
/** Maximum waiting links and waiting notices, each, before the last that is taken. */
const MAX_WAITING = 1_000;
/** Maximum waiting notices of one account, before the last one whose recipients are taken. */
const MAX_WAITING_OF_ACCOUNT = 50;

type Waiting = { mail: QueuedMail; tries: number; cancel: () => void };

export const ACTION = "genrouter doctor tests the settings of mail";

export const createMailQueue = ({ clock, log, send }: { clock: Clock; log: Log; send: Smtp["send"] }): MailQueue => {
  /** Links go before notices. */
  const due: { links: Waiting[]; notices: Waiting[] } = { links: [], notices: [] };
  const later = new Set<Waiting>();
  let isStopped = false;
  let sending: Promise<void> | undefined;

  const lineOf = ({ mail }: Waiting): Waiting[] => (mail.accountSeq === null ? due.links : due.notices);
  const next = (): Waiting | undefined => due.links.shift() ?? due.notices.shift();
  const all = (): Waiting[] => [...due.links, ...due.notices, ...later];
  const hasSpace = (accountSeq: number | null): boolean => {
    const waiting = all().filter(({ mail }) => (mail.accountSeq === null) === (accountSeq === null));
    if (waiting.length >= MAX_WAITING) return false;
    if (accountSeq === null) return true;
    return waiting.filter(({ mail }) => mail.accountSeq === accountSeq).length < MAX_WAITING_OF_ACCOUNT;
  };

  const giveUp = ({ kind }: QueuedMail, reason: string): void => log("mail failed", { kind, reason, action: ACTION });
  const retry = (waiting: Waiting, reason: string): void => {
    const pauseMs = RETRIES_MS[waiting.tries];
    if (pauseMs === undefined || isStopped) {
      giveUp(waiting.mail, reason);
      return;
    }
    log("mail try failed", { kind: waiting.mail.kind, reason });
    waiting.tries += 1;
    later.add(waiting);
    waiting.cancel = clock.after(pauseMs, () => {
      later.delete(waiting);
      lineOf(waiting).push(waiting);
      run();
    });
  };
  const sendOne = async (waiting: Waiting): Promise<void> => {
    const outcome = await send(waiting.mail);
    if (outcome.kind === "sent") log("mail sent", { kind: waiting.mail.kind });
    else if (outcome.isFinal) giveUp(waiting.mail, outcome.reason);
    else retry(waiting, outcome.reason);
  };
  const sendAll = async (): Promise<void> => {
    for (let waiting = next(); waiting !== undefined; waiting = next()) await sendOne(waiting);
    sending = undefined;
  };
  const run = (): void => {
    sending ??= sendAll();
  };

  return {
    add: (mails) => {
      const [first] = mails;
      if (first === undefined) return true;
      if (isStopped || !hasSpace(first.accountSeq)) return false;
      for (const mail of mails) {
        const waiting = { mail, tries: 0, cancel: () => undefined };
        lineOf(waiting).push(waiting);
      }
      run();
      return true;
    },
    stop: async () => {
      isStopped = true;
      for (const waiting of all()) {
        waiting.cancel();
        giveUp(waiting.mail, "the service stops");
      }
      due.links = [];
      due.notices = [];
      later.clear();
      await sending;
    },
  };
};
