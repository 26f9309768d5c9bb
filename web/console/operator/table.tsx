// Sortable table that becomes cards on narrow screens.
import { ArrowDown, ArrowUp, ChevronsUpDown } from "lucide";
import type { ComponentChildren, VNode } from "preact";
import { useId, useState } from "preact/hooks";
import { Icon } from "../../components/icon.tsx";
import { operatorWords } from "../../words/operator-words.ts";

export type Column<Row> = {
  says: string;
  cell: (row: Row) => ComponentChildren;
  /** Sort key of a row; null is sorted last in both directions. Absent: the column cannot be sorted. */
  by?: (row: Row) => string | number | null;
  isNumber?: boolean;
};
type Props<Row> = {
  /** Caption for screen readers. */
  caption: string;
  /** The first column is the title of a card. */
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Rows of one group are adjacent and have a common heading, unless the table is sorted by a column. */
  groupOf?: (row: Row) => string;
};
type Order = { says: string; isDown: boolean };

const compared = (a: string | number | null, b: string | number | null, isDown: boolean): number => {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en");
  return isDown ? -order : order;
};

const sortWord = (order: Order | null, says: string) => {
  if (order?.says !== says) return "none" as const;
  return order.isDown ? ("descending" as const) : ("ascending" as const);
};

const SORT_ICONS = { none: ChevronsUpDown, ascending: ArrowUp, descending: ArrowDown };

type Sorting<Row> = { columns: readonly Column<Row>[]; order: Order | null; setOrder: (order: Order | null) => void };

/** Cards have no column heads, so they are sorted by a list. */
const CardSort = <Row,>({ columns, order, setOrder }: Sorting<Row>): VNode => {
  const id = useId();
  const { sort, sortNone, sortUp, sortDown } = operatorWords.operator;
  const choose = (value: string) => {
    const [direction, says = ""] = [value.slice(0, 1), value.slice(1)];
    setOrder(value === "" ? null : { says, isDown: direction === "-" });
  };
  return (
    <div class="field is-inline card-sort">
      <label for={id}>{sort}</label>
      <select
        id={id}
        value={order === null ? "" : `${order.isDown ? "-" : "+"}${order.says}`}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        <option value="">{sortNone}</option>
        {columns
          .filter(({ by }) => by)
          .flatMap(({ says }) => [
            <option key={`+${says}`} value={`+${says}`}>
              {sortUp(says)}
            </option>,
            <option key={`-${says}`} value={`-${says}`}>
              {sortDown(says)}
            </option>,
          ])}
      </select>
    </div>
  );
};

const Heads = <Row,>({ columns, order, setOrder }: Sorting<Row>): VNode => (
  <thead>
    <tr>
      {columns.map(({ says, by: sorts, isNumber }) => (
        <th key={says} scope="col" class={isNumber ? "number" : undefined} aria-sort={sorts && sortWord(order, says)}>
          {sorts ? (
            <button
              type="button"
              class="sorts"
              onClick={() => setOrder({ says, isDown: order?.says === says ? !order.isDown : isNumber === true })}
            >
              {says}
              <Icon of={SORT_ICONS[sortWord(order, says)]} size={14} />
            </button>
          ) : (
            says
          )}
        </th>
      ))}
    </tr>
  </thead>
);

const GroupRow = ({ name, span }: { name: string; span: number }): VNode => (
  <tr class="group">
    <th scope="rowgroup" colSpan={span}>
      {name}
    </th>
  </tr>
);

export const SortedTable = <Row,>({ caption, columns, rows, keyOf, groupOf }: Props<Row>): VNode => {
  const [order, setOrder] = useState<Order | null>(null);
  const by = columns.find(({ says }) => says === order?.says)?.by;
  const shown = order && by ? rows.toSorted((a, b) => compared(by(a), by(b), order.isDown)) : rows;
  const sorting = { columns, order, setOrder };
  return (
    <>
      {rows.length > 1 && columns.some((column) => column.by) && <CardSort {...sorting} />}
      <table class="sheet paneled">
        <caption class="unseen">{caption}</caption>
        <Heads {...sorting} />
        <tbody>
          {shown.flatMap((row, at) => {
            const group = order === null ? groupOf?.(row) : undefined;
            const before = shown[at - 1];
            const isFirst = group !== undefined && (before === undefined || groupOf?.(before) !== group);
            return [
              ...(isFirst ? [<GroupRow key={`group ${group}`} name={group} span={columns.length} />] : []),
              <tr key={keyOf(row)} data-row={keyOf(row)}>
                {columns.map(({ says, cell, isNumber }) => (
                  <td key={says} data-says={says} class={isNumber ? "number" : undefined}>
                    <div>{cell(row)}</div>
                  </td>
                ))}
              </tr>,
            ];
          })}
        </tbody>
      </table>
    </>
  );
};
