// Backups on the page of the service: the newest one, and a button that begins one.
import type { VNode } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import type { BackupView, ServiceView } from "../../../src/console/operator-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { timeText } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { relativeTime } from "../format.ts";
import { span } from "./format.ts";
import { API, Facts, mayChange } from "./page.tsx";

/** Interval at which a running backup is polled. */
const POLL_MS = 700;

const endText = ({ path, fault, tookMs }: NonNullable<BackupView["ended"]>): string => {
  const { service } = operatorWords;
  if (path === null) return service.backupFailed(fault ?? "");
  return fault === null ? service.backupDone(path, span(tookMs)) : service.backupFaulty(path, fault);
};

const Progress = ({ running }: { running: NonNullable<BackupView["running"]> }): VNode => {
  const { service } = operatorWords;
  return (
    <p class="backup-progress">
      <label>
        {running.by === null ? service.backingUpNightly : service.backingUp(running.by)} <progress />
      </label>
      <span class="muted">{running.step}</span>
    </p>
  );
};

/** A running backup is polled until it has ended. */
const useBackup = (first: BackupView) => {
  const [backup, setBackup] = useState(first);
  const isRunning = backup.running !== null;
  const page = useQuery<ServiceView>(isRunning ? `${API}/service` : null);
  const { value, again } = page;
  useEffect(() => setBackup(first), [first]);
  useEffect(() => {
    if (value) setBackup(value.backup);
    if (!value?.backup.running) return;
    const timer = setTimeout(again, POLL_MS);
    return () => clearTimeout(timer);
  }, [value, again]);
  return [backup, setBackup] as const;
};

export const Backup = ({ of }: { of: BackupView }): VNode => {
  const [backup, setBackup] = useBackup(of);
  const [fault, setFault] = useState<string | null>(null);
  const id = useId();
  const { service } = operatorWords;
  const { dir, isShared, lastMs, running, ended } = backup;
  const whyNot = isShared ? service.disabledShared : dir === null ? service.disabledDir : null;
  const begin = () => {
    setFault(null);
    call<BackupView>("POST", `${API}/backup`).then(setBackup, (thrown: unknown) => setFault(errorText(thrown)));
  };
  return (
    <section id="backup">
      <h2>{service.backup}</h2>
      <p class="muted">{service.backupAbout}</p>
      <Facts
        facts={[
          {
            name: service.lastBackup,
            value: lastMs === null ? service.never : `${timeText(lastMs)} (${relativeTime(lastMs, Date.now())})`,
          },
          { name: service.directory, value: dir ?? (isShared ? service.disabledShared : service.notConfigured) },
        ]}
      />
      {mayChange() && (
        <p class="actions">
          <button
            type="button"
            class="button"
            disabled={whyNot !== null || running !== null}
            aria-describedby={whyNot === null ? undefined : id}
            onClick={begin}
          >
            {service.backUp}
          </button>
          {whyNot !== null && (
            <span class="muted" id={id}>
              {whyNot}
            </span>
          )}
        </p>
      )}
      <div role="status">
        {running !== null && <Progress running={running} />}
        {running === null && ended !== null && (
          <p class={`notice ${ended.fault === null ? "is-good" : "is-bad"}`}>{endText(ended)}</p>
        )}
        {fault !== null && <p class="notice is-bad">{fault}</p>}
      </div>
    </section>
  );
};
