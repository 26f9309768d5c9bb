// Table of things with one row each, which becomes cards on a phone.
import type { ComponentChildren, VNode } from "preact";

type Props<Column extends string> = {
  /** The heads by column. The head of the column `actions`, which has the menus, is for screen readers only. */
  columns: Readonly<Record<Column, string>>;
  numbers?: readonly Column[];
  class?: string;
  /** The rows. */
  children: ComponentChildren;
};

export const RowTable = <Column extends string>({ columns, numbers = [], class: name = "", children }: Props<Column>): VNode => (
  <div class="cards panel">
    <table class={name === "" ? "rows" : `rows ${name}`}>
      <thead>
        <tr>
          {(Object.entries(columns) as [Column, string][]).map(([column, head]) => (
            <th key={column} scope="col" class={numbers.includes(column) ? "number" : undefined}>
              {column === "actions" ? <span class="unseen">{head}</span> : head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);
