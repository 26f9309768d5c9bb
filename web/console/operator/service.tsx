// `/console/operator/service`: readiness, facts, backups, parked generations and nodes.

import type { VNode } from "preact";
import type { ServiceView } from "../../../src/console/operator-dto.ts";
import { timeText } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { relativeTime } from "../format.ts";
import { Backup } from "./backup.tsx";
import { number } from "./format.ts";
import { Nodes } from "./nodes.tsx";
import { Alerts } from "./overview-now.tsx";
import { API, Awaited, type Fact, Facts } from "./page.tsx";
import { ParkedGenerations } from "./parked.tsx";

const restoredText = ({ restored }: ServiceView): string => {
  const { service } = operatorWords;
  if (restored === null) return service.notRestored;
  const checked = restored.settled ? ` ${service.restoredSettled}` : "";
  const work = restored.open ? service.restoredOpen : `${service.restoredEnded}${checked}`;
  return `${service.restoredAt(timeText(restored.takenAtMs))} ${work}`;
};

const factsOf = (of: ServiceView): Fact[] => {
  const { service } = operatorWords;
  return [
    { name: service.version, value: of.version },
    { name: service.mode, value: of.mode === "test" ? service.test : service.live },
    { name: service.address, value: of.url },
    { name: service.started, value: `${timeText(of.startedAtMs)} (${relativeTime(of.startedAtMs, Date.now())})` },
    { name: service.running, value: number(of.running) },
    { name: service.queued, value: number(of.queued) },
    { name: service.restored, value: restoredText(of), isWide: of.restored !== null },
  ];
};

export const ServicePage = (): VNode => {
  const page = useQuery<ServiceView>(`${API}/service`);
  return (
    <Awaited of={page}>
      {(service) => (
        <>
          <Alerts {...service} />
          {service.losing.length > 0 && (
            <p class="notice is-warn">
              <a href="/console/operator/routes?show=losing">{operatorWords.service.losing(service.losing.length)}</a>
            </p>
          )}
          <ParkedGenerations rows={service.parked} again={page.again} />
          <section>
            <div class="page-head">
              <h2>{operatorWords.service.facts}</h2>
              <button type="button" class="button" onClick={page.again}>
                {operatorWords.service.refresh}
              </button>
            </div>
            <Facts facts={factsOf(service)} />
          </section>
          <Backup of={service.backup} />
          {service.nodes !== null && <Nodes nodes={service.nodes} />}
        </>
      )}
    </Awaited>
  );
};
