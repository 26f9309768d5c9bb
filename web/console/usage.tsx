// `/console/usage`: usage by day, model, key and account, with CSV export.
//
// Accounts are shown to operators and viewers only.

import type { VNode } from "preact";
import { useEffect, useId, useMemo, useState } from "preact/hooks";
import type { UsageDto, UsageLine } from "../../src/console/keys-dto.ts";
import { dayText, usd } from "../components/format.ts";
import { waited } from "./format.ts";
import type { Send } from "./key-dialogs.tsx";
import { type Figure, UsageChart } from "./usage-chart.tsx";

const DAY_MS = 86_400_000;
const SPANS: readonly (readonly [days: number, says: string])[] = [
  [7, "7 days"],
  [30, "30 days"],
  [90, "90 days"],
  [365, "A year"],
];
type By = UsageDto["by"];
const HEADS: Record<By, string> = { day: "Day", model: "Model", key: "Key", account: "Account" };
/** Maximum number of lines shown; the CSV contains all. */
const SHOWN = 50;

const requestedDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const share = ({ succeeded, count }: UsageLine): number | null => (count === 0 ? null : succeeded / count);
const percent = (part: number): string => `${(part * 100).toFixed(part === 1 || part === 0 ? 0 : 1)} %`;
const nameOf = (by: By, { of, name }: UsageLine): string => (by === "day" ? dayText(Date.parse(`${of}T00:00:00Z`)) : name);

const figuresOf = ({ lines, total }: UsageDto): Figure[] => {
  const atS = lines.map(({ of }) => Date.parse(`${of}T00:00:00Z`) / 1000);
  const figure = (
    title: string,
    says: string,
    of: (line: UsageLine) => number | null,
    more: Pick<Figure, "shape" | "format" | "most">,
  ) => ({
    ...{ title, atS, ...more, whole: says, values: lines.map(of) },
    says: `${title} by day over ${lines.length} days: ${says}. The table below has every day.`,
  });
  const rate = share(total);
  const whole = (value: number) => (Number.isInteger(value) ? String(value) : "");
  return [
    figure("Spend, USD", `${usd(total.chargedCredits)} in total`, ({ chargedCredits }) => chargedCredits || null, {
      ...{ shape: "bars", format: (credits) => usd(Math.round(credits)) },
    }),
    figure("Generations", `${total.count} in total`, ({ count }) => count || null, { shape: "bars", format: whole }),
    figure("Success", rate === null ? "none" : `${percent(rate)} in total`, share, { shape: "line", format: percent, most: 1 }),
    figure(
      "Median wait",
      total.medianWaitMs === null ? "none" : `${waited(total.medianWaitMs)} in total`,
      (line) => line.medianWaitMs,
      {
        ...{ shape: "line", format: waited },
      },
    ),
  ];
};

const UsageTable = ({ view, csv, caption }: { view: UsageDto; csv: string; caption: string }): VNode => {
  const shown = view.lines.filter(({ count }) => view.by !== "day" || count > 0);
  return (
    <section class="usage-table" aria-label={caption}>
      <div class="page-head">
        <h2>{caption}</h2>
        <a class="button" href={csv} download>
          CSV
        </a>
      </div>
      {shown.length === 0 ? (
        <p class="empty">No generation ended in this period.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
        <section class="scrolls" tabIndex={0} aria-label={`${caption}, table`}>
          <table>
            <thead>
              <tr>
                <th scope="col">{HEADS[view.by]}</th>
                {["Generations", "Success", "Spend", "Median wait"].map((head) => (
                  <th scope="col" class="number" key={head}>
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {[...(view.by === "day" ? shown.toReversed() : shown.slice(0, SHOWN)), view.total].map((line) => (
                <tr key={line.of} class={line.of === "" ? "total" : undefined}>
                  <th scope="row">{line.of === "" ? line.name : nameOf(view.by, line)}</th>
                  <td class="number">{line.count}</td>
                  <td class="number">{line.count === 0 ? "–" : percent(share(line) ?? 0)}</td>
                  <td class="number">{usd(line.chargedCredits)}</td>
                  <td class="number">{line.medianWaitMs === null ? "–" : waited(line.medianWaitMs)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {view.by !== "day" && shown.length > SHOWN && (
        <p>
          Shows the {SHOWN} with the highest spend of {shown.length}. The CSV contains all.
        </p>
      )}
    </section>
  );
};

/**
 * `account`: the viewed account; null selects all accounts for operators and viewers. `byAccount`: the user may see other
 * accounts.
 */
export const UsageView = (of: { send: Send; account: string | null; byAccount: boolean }): VNode => {
  const { send, account, byAccount } = of;
  const [days, setDays] = useState(30);
  const [views, setViews] = useState<UsageDto[] | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const id = useId();
  const queries = useMemo(() => {
    const toMs = Date.now();
    const range = `from=${requestedDay(toMs - (days - 1) * DAY_MS)}&to=${requestedDay(toMs)}`;
    const whose = account === null ? "" : `&account=${encodeURIComponent(account)}`;
    const bys: By[] = ["day", "model", "key", ...(byAccount && account === null ? (["account"] as const) : [])];
    return bys.map((by) => `?${range}&by=${by}${whose}`);
  }, [days, account, byAccount]);
  useEffect(() => {
    let isOver = false;
    Promise.all(queries.map((query) => send<UsageDto>("GET", `/console/api/usage${query}`))).then(
      (reported) => isOver || setViews(reported),
      (reason: Error) => isOver || setFault(reason.message),
    );
    return () => {
      isOver = true;
    };
  }, [send, queries]);
  const byDay = views?.[0];
  const figures = useMemo(() => (byDay ? figuresOf(byDay) : []), [byDay]);
  if (fault !== null)
    return (
      <p class="notice is-bad" role="alert">
        {fault}
      </p>
    );
  return (
    <>
      <div class="page-head">
        <p>Days are in UTC, by the end of the generation.</p>
        <div class="field is-inline">
          <label for={id}>Show</label>
          <select id={id} value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {SPANS.map(([count, says]) => (
              <option key={count} value={count}>
                {says}
              </option>
            ))}
          </select>
        </div>
      </div>
      {views === null || byDay === undefined ? (
        <p aria-busy="true">Loading the usage…</p>
      ) : (
        <>
          <div class="usage-charts">
            {figures.map((figure) => (
              <UsageChart key={figure.title} figure={figure} />
            ))}
          </div>
          {views.map((view, n) => (
            <UsageTable
              key={view.by}
              view={view}
              csv={`/console/api/usage.csv${queries[n] ?? ""}`}
              caption={view.by === "day" ? "By day" : `By ${view.by}`}
            />
          ))}
        </>
      )}
    </>
  );
};
