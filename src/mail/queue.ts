// Queue of mails in memory: one is sent at a time, and failures are retried with growing pauses.
//
// A mail repeats what the console shows, so it is not stored. A stop gives up what is waiting, and logs it.
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../logging/events.ts";
import type { Mail, Smtp } from "./smtp.ts";

/** What a mail is about. */
export type MailKind = "invitation" | "password" | "webhook_disabled" | "low_balance";
export type QueuedMail = Mail & { kind: MailKind };

export type MailQueue = {
  /** Never waits and never throws. */
  add(mail: QueuedMail): void;
  /** Gives up what waits for a retry, and waits for the mail that is being sent. */
  stop(): Promise<void>;
};

const MINUTE_MS = 60_000;
/** Pauses after each failed try; the schedule spans about two days. */
export const RETRIES_MS: readonly number[] = [1, 5, 30, 120, 360, 720, 720, 720].map((minutes) => minutes * MINUTE_MS);
/** More than events of a day cause; beyond it, new mails are given up. */
const MAX_WAITING = 1_000;

type Waiting = { mail: QueuedMail; tries: number; cancel: () => void };

const ACTION = "genrouter doctor tests the settings of mail";

export const createMailQueue = ({ clock, log, send }: { clock: Clock; log: Log; send: Smtp["send"] }): MailQueue => {
  const due: Waiting[] = [];
  const later = new Set<Waiting>();
  let isStopped = false;
  let sending: Promise<void> | undefined;

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
      due.push(waiting);
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
    for (let next = due.shift(); next !== undefined; next = due.shift()) await sendOne(next);
    sending = undefined;
  };
  const run = (): void => {
    sending ??= sendAll();
  };

  return {
    add: (mail) => {
      if (isStopped || due.length + later.size >= MAX_WAITING)
        return giveUp(mail, isStopped ? "the service stops" : `${MAX_WAITING} mails are waiting`);
      due.push({ mail, tries: 0, cancel: () => undefined });
      run();
    },
    stop: async () => {
      isStopped = true;
      for (const waiting of [...due.splice(0), ...later]) {
        waiting.cancel();
        giveUp(waiting.mail, "the service stops");
      }
      later.clear();
      await sending;
    },
  };
};
