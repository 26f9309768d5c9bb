// Table of a ledger: a row opens to show its single transfers.
import { ChevronRight } from "lucide";
import { Fragment, type VNode } from "preact";
import { useId, useState } from "preact/hooks";
import type { LedgerLine, LedgerRow } from "../../../src/console/credits-dto.ts";
import { Icon } from "../../components/icon.tsx";
import { Time } from "../../components/time.tsx";
import { words } from "../../words/console-words.ts";
import { changeText, usdText } from "./amounts.ts";

const COLUMNS = 6;

/** The name of a row: what the generation was asked for, or what the transfer was for. */
const titleOf = ({ generation, purchaseId, kind, changeCredits }: LedgerRow): string => {
  const { ledger } = words;
  if (generation) return generation.prompt?.trim() || generation.model;
  if (purchaseId !== null && kind === "topup") return ledger.purchase;
  if (purchaseId !== null) return changeCredits < 0 ? ledger.reversal : ledger.returned;
  return changeCredits < 0 ? ledger.withdrawn : ledger.granted;
};

const hrefOf = ({ generation, purchaseId }: LedgerRow): string | null => {
  if (generation) return `/console/generations/${generation.id}`;
  return purchaseId === null ? null : `/console/receipts/${purchaseId}`;
};

const Entry = ({ row }: { row: LedgerRow }): VNode => {
  const [title, href] = [titleOf(row), hrefOf(row)];
  const about = row.generation ? row.generation.model : row.purchaseId === null ? row.note : null;
  return (
    <span class="ledger-entry">
      {href === null ? <span>{title}</span> : <a href={href}>{title}</a>}
      {about && about !== title && <small>{about}</small>}
    </span>
  );
};

const Amount = ({ row }: { row: LedgerRow }): VNode =>
  row.openHoldCredits > 0 ? (
    <span class="muted">{words.ledger.held(usdText(row.openHoldCredits))}</span>
  ) : (
    <span class={row.changeCredits > 0 ? "gain" : undefined}>{changeText(row.changeCredits) || usdText(0)}</span>
  );

const Lines = ({ lines, label }: { lines: readonly LedgerLine[]; label: string }): VNode => {
  const { ledger, transferKinds } = words;
  return (
    <table aria-label={label} class="ledger-lines">
      <thead>
        <tr>
          <th scope="col">{ledger.time}</th>
          <th scope="col">{ledger.kind}</th>
          {[ledger.amount, ledger.change, ledger.balance, ledger.available].map((head) => (
            <th key={head} scope="col" class="number">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <tr key={line.n}>
            <td data-head={ledger.time}>
              <Time atMs={line.atMs} />
            </td>
            <td data-head={ledger.kind}>{transferKinds[line.kind]}</td>
            <td data-head={ledger.amount} class="number">
              {usdText(line.credits)}
            </td>
            <td data-head={ledger.change} class="number">
              {changeText(line.changeCredits) || "–"}
            </td>
            <td data-head={ledger.balance} class="number">
              {usdText(line.balanceCredits)}
            </td>
            <td data-head={ledger.available} class="number">
              {usdText(line.availableCredits)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
};

const Row = ({ row }: { row: LedgerRow }): VNode => {
  const { ledger, transferKinds } = words;
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const show = ledger.show(titleOf(row));
  return (
    <Fragment>
      <tr class={isOpen ? "is-open" : undefined}>
        <td class="opener">
          <button
            type="button"
            class="button is-quiet is-icon is-small"
            aria-label={show}
            aria-expanded={isOpen}
            aria-controls={id}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon of={ChevronRight} size={16} />
          </button>
        </td>
        <td data-head={ledger.time}>
          <Time atMs={row.atMs} />
        </td>
        <td class="entry">
          <Entry row={row} />
        </td>
        <td data-head={ledger.kind}>{transferKinds[row.kind]}</td>
        <td data-head={ledger.amount} class="number">
          <Amount row={row} />
        </td>
        <td data-head={ledger.balance} class="number">
          {usdText(row.balanceCredits)}
        </td>
      </tr>
      {isOpen && (
        <tr id={id} class="ledger-detail">
          <td colSpan={COLUMNS}>
            <Lines lines={row.lines} label={ledger.transfers} />
          </td>
        </tr>
      )}
    </Fragment>
  );
};

export const LedgerTable = ({ rows }: { rows: readonly LedgerRow[] }): VNode => {
  const { ledger } = words;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
    <section class="scrolls cards" tabIndex={0} aria-label={ledger.table}>
      <table class="ledger paneled">
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">{ledger.transfers}</span>
            </th>
            <th scope="col">{ledger.time}</th>
            <th scope="col">{ledger.entry}</th>
            <th scope="col">{ledger.kind}</th>
            <th scope="col" class="number">
              {ledger.amount}
            </th>
            <th scope="col" class="number">
              {ledger.balance}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.seq} row={row} />
          ))}
        </tbody>
      </table>
    </section>
  );
};
