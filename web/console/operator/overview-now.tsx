// The present state on the overview: readiness, queue, routes, decisions, orphans and backups.
import type { VNode } from "preact";
import type { BackupView, OverviewView } from "../../../src/console/operator-dto.ts";
import { usd } from "../../components/format.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { relativeTime } from "../format.ts";
import { Section } from "./page.tsx";

/** Age from which a backup is a reason to look: a nightly one has failed. */
const OLD_BACKUP_MS = 26 * 3_600_000;
const MAX_DOWN = 5;

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

/** Faults and warnings of the service, as sentences. */
export const Alerts = ({ ready, faults, warnings }: Pick<OverviewView, "ready" | "faults" | "warnings">): VNode => {
  const { overview } = operatorWords;
  return (
    <div role="status">
      {ready && warnings.length === 0 ? (
        <p class="notice is-good">{overview.accepting}</p>
      ) : (
        <>
          <p class={`notice ${ready ? "is-good" : "is-bad"}`}>{ready ? overview.accepting : overview.notAccepting}</p>
          {[...faults, ...warnings].map((text) => (
            <p class="notice is-bad" key={text}>
              {sentence(text)}
            </p>
          ))}
        </>
      )}
    </div>
  );
};

const Queue = ({ queue: { queued, running, oldestMs } }: Pick<OverviewView, "queue">): VNode => {
  const { overview } = operatorWords;
  return (
    <Section title={overview.queue} href="/console/generations?account=*&status=queued">
      {queued + running === 0 ? (
        <p class="muted">{overview.idle}</p>
      ) : (
        <>
          <p class="overview-line">
            <strong>{overview.queued(queued)}</strong> <strong>{overview.running(running)}</strong>
          </p>
          {oldestMs !== null && <p class="muted">{overview.oldest(relativeTime(oldestMs, Date.now()))}</p>}
        </>
      )}
    </Section>
  );
};

const RoutesNow = ({ routes: { up, off, down } }: Pick<OverviewView, "routes">): VNode => {
  const { overview } = operatorWords;
  return (
    <Section title={overview.routes} href={`/console/operator/routes${down.length > 0 ? "?show=down" : ""}`}>
      <p class="overview-line">
        <strong>{overview.routesUp(up)}</strong>{" "}
        {down.length > 0 && <strong class="bad">{overview.routesDown(down.length)}</strong>} {off > 0 && overview.routesOff(off)}
      </p>
      {down.length > 0 && (
        <ul>
          {down.slice(0, MAX_DOWN).map(({ id, reason, untilMs }) => (
            <li key={id}>
              {id}
              {reason !== null && `: ${reason}.`}{" "}
              {untilMs !== null && untilMs > Date.now() && overview.retried(relativeTime(untilMs, Date.now()))}
            </li>
          ))}
          {down.length > MAX_DOWN && <li>{overview.more(down.length - MAX_DOWN)}</li>}
        </ul>
      )}
    </Section>
  );
};

const Decisions = ({ parked, undecided, orphans }: Pick<OverviewView, "parked" | "undecided" | "orphans">): VNode => {
  const { overview } = operatorWords;
  const lines: (readonly [href: string, text: string, isBad: boolean])[] = [
    ...(parked > 0 ? [["/console/operator/service#parked", overview.parked(parked), true] as const] : []),
    ...(undecided > 0 ? [["/console/operator/accounts", overview.undecided(undecided), true] as const] : []),
    ...(orphans !== null && orphans.count > 0
      ? [["/console/operator/orphans", overview.orphans(orphans.count, usd(orphans.credits)), false] as const]
      : []),
  ];
  return (
    <Section title={overview.attention}>
      {lines.length === 0 && <p class="muted">{overview.nothing}</p>}
      {lines.length > 0 && (
        <ul>
          {lines.map(([href, text, isBad]) => (
            <li key={href}>
              <a class={isBad ? "bad" : undefined} href={href}>
                {text}
              </a>
            </li>
          ))}
        </ul>
      )}
      {orphans === null && <p class="muted">{overview.orphansLater}</p>}
    </Section>
  );
};

const BackupAge = ({ backup: { dir, isShared, lastMs } }: { backup: BackupView }): VNode => {
  const { overview } = operatorWords;
  const isOld = dir !== null && (lastMs === null || Date.now() - lastMs > OLD_BACKUP_MS);
  const text = () => {
    if (isShared) return overview.sharedBackup;
    if (dir === null) return overview.noBackup;
    return lastMs === null ? overview.neverBackedUp : overview.backedUp(relativeTime(lastMs, Date.now()));
  };
  return (
    <Section title={overview.backup} href="/console/operator/service#backup">
      <p class={isOld ? "bad" : undefined}>{text()}</p>
    </Section>
  );
};

export const Now = ({ of }: { of: OverviewView }): VNode => (
  <div class="overview-sections is-now">
    <Queue {...of} />
    <RoutesNow {...of} />
    <Decisions {...of} />
    <BackupAge {...of} />
  </div>
);
