// Tables of usage: the groups, each with the way to its generations, and the days.
import { Download } from "lucide";
import type { ComponentChildren, VNode } from "preact";
import type { UsageLine, UsageSeriesDto } from "../../src/console/keys-dto.ts";
import { dayText, usd } from "../components/format.ts";
import { Icon } from "../components/icon.tsx";
import { words } from "../words/console-words.ts";
import { locale } from "../words/words.ts";
import { numberText } from "./credits/amounts.ts";
import { waited } from "./format.ts";

export const percentText = (part: number): string =>
  part.toLocaleString(locale, { style: "percent", maximumFractionDigits: part === 1 || part === 0 ? 0 : 1 });
export const successOf = ({ succeeded, count }: Pick<UsageLine, "succeeded" | "count">): number | null =>
  count === 0 ? null : succeeded / count;

const Figures = ({ line, share }: { line: UsageLine; share: string | null }): VNode => {
  const { usage } = words;
  const success = successOf(line);
  return (
    <>
      <td class="number" data-head={usage.spend}>
        {usd(line.chargedCredits)}
      </td>
      {share !== null && (
        <td class="number" data-head={usage.share}>
          {share}
        </td>
      )}
      <td class="number" data-head={usage.generations}>
        {numberText(line.count)}
      </td>
      <td class="number" data-head={usage.success}>
        {success === null ? "–" : percentText(success)}
      </td>
      <td class="number" data-head={usage.wait}>
        {line.medianWaitMs === null ? "–" : waited(line.medianWaitMs)}
      </td>
    </>
  );
};

type TableProps = {
  label: string;
  head: string;
  hasShare: boolean;
  csv: string | null;
  title: ComponentChildren;
  children: ComponentChildren;
};

const UsageTable = ({ label, head, hasShare, csv, title, children }: TableProps): VNode => {
  const { usage } = words;
  const heads = [usage.spend, ...(hasShare ? [usage.share] : []), usage.generations, usage.success, usage.wait];
  return (
    <section class="usage-table" aria-label={label}>
      <div class="page-head">
        {title}
        {csv !== null && (
          <a class="button is-small" href={csv} download>
            <Icon of={Download} size={14} />
            {usage.csv}
          </a>
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard. */}
      <section class="scrolls cards" tabIndex={0} aria-label={label}>
        <table class="paneled">
          <thead>
            <tr>
              <th scope="col">{head}</th>
              {heads.map((name) => (
                <th scope="col" class="number" key={name}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </section>
    </section>
  );
};

type GroupsProps = { view: UsageSeriesDto; csv: string | null; hrefOf: (of: string) => string };

export const GroupTable = ({ view, csv, hrefOf }: GroupsProps): VNode => {
  const { usage } = words;
  const group = usage.groups[view.by];
  const { total, groups, groupCount } = view;
  const share = ({ chargedCredits }: UsageLine) =>
    total.chargedCredits === 0 ? "–" : percentText(chargedCredits / total.chargedCredits);
  return (
    <>
      <UsageTable label={usage.tableOf(group)} head={group} hasShare csv={csv} title={<h2>{usage.tableOf(group)}</h2>}>
        {groups.map((line, n) => (
          <tr key={line.of} class="is-link">
            <th scope="row">
              <span class={`swatch series-${n < view.series.length ? n : "rest"}`} />
              <a href={hrefOf(line.of)} title={usage.open(line.name)}>
                {line.name}
              </a>
            </th>
            <Figures line={line} share={share(line)} />
          </tr>
        ))}
        <tr class="total">
          <th scope="row">{usage.total}</th>
          <Figures line={total} share={share(total)} />
        </tr>
      </UsageTable>
      {groupCount === null && <p class="muted">{usage.newestEndUsers}</p>}
      {groupCount !== null && groupCount > groups.length && <p class="muted">{usage.more(groups.length, groupCount)}</p>}
    </>
  );
};

/** Days with generations, the newest first. */
export const DayTable = ({ view, csv }: { view: UsageSeriesDto; csv: string | null }): VNode => {
  const { usage } = words;
  const days = view.days.filter(({ count }) => count > 0).toReversed();
  return (
    <details class="daily">
      <summary>{usage.daily}</summary>
      <UsageTable label={usage.daily} head={usage.day} hasShare={false} csv={csv} title={null}>
        {days.map((line) => (
          <tr key={line.of}>
            <th scope="row">{dayText(Date.parse(`${line.of}T00:00:00Z`))}</th>
            <Figures line={line} share={null} />
          </tr>
        ))}
      </UsageTable>
    </details>
  );
};
