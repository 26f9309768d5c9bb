// `/console/operator/overview`: figures of a period with the one before, and what needs attention now.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { OverviewPeriod, OverviewSums, OverviewView } from "../../../src/console/operator-dto.ts";
import { usd, usdExact } from "../../components/format.ts";
import { Sparkline } from "../../components/sparkline.tsx";
import { Tabs } from "../../components/tabs.tsx";
import { useQuery } from "../../components/use-query.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { locale } from "../../words/words.ts";
import { number, percent } from "./format.ts";
import { Alerts, Now } from "./overview-now.tsx";
import { API, Awaited, Section } from "./page.tsx";

const PERIODS = ["today", "7d", "30d"] as const satisfies readonly OverviewPeriod[];
/** Interval at which the page reads again while it is visible. */
const REFRESH_MS = 30_000;
const COUNTED_MS = 3_000;
const MICRO_USD_PER_CREDIT = 10_000;

const endedIn = ({ succeeded, failed }: OverviewSums): number => succeeded + failed;
const costCredits = ({ costMicroUsd }: Pick<OverviewSums, "costMicroUsd">): number =>
  Math.round(costMicroUsd / MICRO_USD_PER_CREDIT);
/** Credits of the revenue whose cost is known, less that cost; they may have decimals. */
const earned = (sums: OverviewSums): number =>
  sums.chargedCredits - sums.uncostedCredits - sums.costMicroUsd / MICRO_USD_PER_CREDIT;
const earnedText = (credits: number): string =>
  credits < 0 ? operatorWords.overview.lost(usdExact(-credits)) : operatorWords.overview.profit(usdExact(credits));
/** In percent of that revenue; null without any. */
const marginPercent = (sums: OverviewSums): number | null => {
  const known = sums.chargedCredits - sums.uncostedCredits;
  return known === 0 ? null : (100 * (known - sums.costMicroUsd / MICRO_USD_PER_CREDIT)) / known;
};
const failurePercent = (sums: OverviewSums): number | null => (endedIn(sums) === 0 ? null : (100 * sums.failed) / endedIn(sums));

type Figure = {
  name: string;
  href: string;
  value: string;
  before: string;
  /** Change against the period before, in words; null if it says nothing. */
  change: string | null;
  isBad?: boolean;
  steps: readonly number[];
  text: (value: number) => string;
};

const changeText = (now: number, before: number): string | null => {
  const { up, down, same } = operatorWords.overview;
  if (now === before) return same;
  if (before <= 0) return null;
  const part = (100 * (now - before)) / before;
  return part > 0 ? up(percent(part, 0)) : down(percent(-part, 0));
};

const figuresOf = ({ current, previous, steps }: OverviewView): Figure[] => {
  const { overview } = operatorWords;
  const money = (name: string, href: string, of: (sums: OverviewSums) => number): Figure => ({
    ...{ name, href, value: usd(of(current)), before: usd(of(previous)), change: changeText(of(current), of(previous)) },
    ...{ steps: steps.map(of), text: usd },
  });
  const margin = marginPercent(current);
  const rate = failurePercent(current);
  return [
    {
      ...{
        name: overview.generations,
        href: "/console/usage?account=*",
        value: number(endedIn(current)),
        before: number(endedIn(previous)),
      },
      ...{ change: changeText(endedIn(current), endedIn(previous)), steps: steps.map(endedIn), text: (n) => number(n) },
    },
    money(overview.revenue, "/console/usage?account=*", ({ chargedCredits }) => chargedCredits),
    money(overview.cost, "/console/operator/routes", costCredits),
    {
      ...{ name: overview.margin, href: "/console/operator/routes?show=losing" },
      ...{
        value: percent(margin),
        before: percent(marginPercent(previous)),
        change: margin === null ? null : earnedText(earned(current)),
      },
      ...{ isBad: margin !== null && margin < 0, steps: steps.map(earned), text: usdExact },
    },
    {
      ...{ name: overview.failures, href: "/console/generations?account=*&status=failed" },
      ...{ value: percent(rate), before: percent(failurePercent(previous)), change: overview.failureCount(current.failed) },
      ...{ steps: steps.map(({ failed }) => failed), text: (n) => number(n) },
    },
  ];
};

const stepText = (atMs: number, period: OverviewPeriod): string =>
  new Date(atMs).toLocaleString(locale, {
    ...(period === "today" ? { hour: "numeric", timeZoneName: "short" } : { month: "short", day: "numeric" }),
    timeZone: "UTC",
  });

const FigureCard = ({ of, view }: { of: Figure; view: OverviewView }): VNode => {
  const { overview } = operatorWords;
  const texts = of.steps.map((value, n) => overview.bar(stepText(view.steps[n]?.atMs ?? 0, view.period), of.text(value)));
  return (
    <li class={`card figure-card${of.isBad ? " is-bad" : ""}`}>
      <h2>
        <a href={of.href}>{of.name}</a>
      </h2>
      <p class="figure-value">
        {of.value}
        {of.isBad && <span class="status is-bad">{overview.loss}</span>}
      </p>
      <p class="muted">
        {of.change !== null && <strong>{of.change}</strong>}
        <span>{overview.compared(overview.before[view.period], of.before)}</span>
      </p>
      <Sparkline label={overview.chart(of.name, of.steps.length)} values={of.steps} texts={texts} />
    </li>
  );
};

const Reasons = ({ reasons, current }: Pick<OverviewView, "reasons" | "current">): VNode => {
  const { overview } = operatorWords;
  return (
    <Section title={overview.reasons} href="/console/generations?account=*&status=failed">
      {reasons.length === 0 ? (
        <p class="muted">{overview.noFailures}</p>
      ) : (
        <ul class="shares">
          {reasons.map(({ code, count }) => (
            <li key={code}>
              <span>{overview.codes[code] ?? code}</span>
              <meter min={0} max={current.failed} value={count} aria-hidden="true" />
              <span class="number">{number(count)}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
};

const Losing = ({ losing }: Pick<OverviewView, "losing">): VNode => {
  const { overview, routes } = operatorWords;
  return (
    <Section title={overview.losing} href="/console/operator/routes?show=losing">
      <p class="muted">{losing.length === 0 ? overview.noLosing : overview.losingAbout}</p>
      <ul class="shares">
        {losing.slice(0, 5).map(({ id, leastPercent, mostPercent }) => (
          <li key={id}>
            <span>{id}</span>
            <span class="number bad">
              {routes.loss} {routes.range(percent(leastPercent, 0), percent(mostPercent, 0))}
            </span>
          </li>
        ))}
      </ul>
      {losing.length > 5 && <p class="muted">{overview.more(losing.length - 5)}</p>}
    </Section>
  );
};

export const OverviewPage = (): VNode => {
  const [period, setPeriod] = useState<OverviewPeriod>("today");
  const page = useQuery<OverviewView>(`${API}/overview?period=${period}`);
  const { again, value } = page;
  useEffect(() => {
    // Orphans are counted in the background.
    const waitMs = value?.orphans === null ? COUNTED_MS : REFRESH_MS;
    const timer = setInterval(() => document.visibilityState === "visible" && again(), waitMs);
    return () => clearInterval(timer);
  }, [again, value]);
  const { overview } = operatorWords;
  return (
    <Tabs
      label={overview.period}
      tabs={PERIODS.map((name) => ({ name, label: overview.periods[name] }))}
      current={period}
      choose={setPeriod}
    >
      <Awaited of={page}>
        {(view) => (
          <>
            <Alerts {...view} />
            <ul class="figure-cards">
              {figuresOf(view).map((figure) => (
                <FigureCard key={figure.name} of={figure} view={view} />
              ))}
            </ul>
            <p class="muted">
              {overview.days} {view.current.uncostedCredits > 0 && overview.uncosted(usd(view.current.uncostedCredits))}
            </p>
            <Now of={view} />
            <div class="overview-sections">
              <Reasons {...view} />
              <Losing {...view} />
            </div>
          </>
        )}
      </Awaited>
    </Tabs>
  );
};
