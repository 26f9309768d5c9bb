// Notices to the users of an account: kept until the queue of mails has space for them.
import type { Clock } from "../domain/clock.ts";
import type { Log } from "../logging/events.ts";
import type { UserRow } from "../store/user-reads.ts";
import { ACTION, type MailKind, type MailQueue } from "./queue.ts";

/** A mail to each enabled user of an account. */
export type Notice = { accountSeq: number; kind: MailKind; subject: string; text: string };

export type NoticesDeps = {
  clock: Pick<Clock, "after">;
  log: Log;
  reads: { users(): Promise<UserRow[]> };
  queue: Pick<MailQueue, "add">;
  /** Called if the recipients cannot be read. */
  failed: (fault: unknown) => void;
};

export type Notices = {
  add(notice: Notice): void;
  /** Gives up what waits. */
  stop(): void;
};

/** Pause before what the queue has not taken is offered again. */
const PAUSE_MS = 60_000;
const MAX_WAITING = 10_000;

export const createNotices = ({ clock, log, reads, queue, failed }: NoticesDeps): Notices => {
  const waiting = new Set<Notice>();
  let isOffering = false;
  /** Something was added while the recipients were read. */
  let hasNew = false;
  let isStopped = false;
  let takeBack = (): void => undefined;

  const giveUp = ({ kind }: Notice, reason: string): void => log("mail failed", { kind, reason, action: ACTION });
  const offerAll = async (): Promise<void> => {
    const notices = [...waiting];
    const users = Map.groupBy(await reads.users(), ({ accountSeq }) => accountSeq);
    for (const notice of notices) {
      const { accountSeq, ...mail } = notice;
      const enabled = (users.get(accountSeq) ?? []).filter(({ disabledAtMs }) => disabledAtMs === null);
      const isTaken = queue.add(enabled.map(({ email: to }) => ({ ...mail, accountSeq, to })));
      if (isTaken) waiting.delete(notice);
    }
  };
  const offer = (): void => {
    if (isStopped) return;
    hasNew = isOffering;
    if (isOffering) return;
    isOffering = true;
    takeBack();
    offerAll()
      .catch(failed)
      .finally(() => {
        isOffering = false;
        if (hasNew) offer();
        else if (waiting.size > 0) takeBack = clock.after(PAUSE_MS, offer);
      });
  };

  return {
    add: (notice) => {
      if (isStopped || waiting.size >= MAX_WAITING)
        return giveUp(notice, isStopped ? "the service stops" : `${MAX_WAITING} notices are waiting`);
      waiting.add(notice);
      offer();
    },
    stop: () => {
      isStopped = true;
      takeBack();
      for (const notice of waiting) giveUp(notice, "the service stops");
      waiting.clear();
    },
  };
};
