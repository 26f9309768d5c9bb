// `/console/operator/verification`: verifies the live ledger and shows invariants and sums.

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type {
  InvariantResult,
  SumsCompared,
  VerificationResult,
  VerificationRun,
  VerificationView,
} from "../../../src/console/operator-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { timeText, usd } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { number, span } from "./format.ts";
import { API, Awaited, PageMessage } from "./page.tsx";
import { type Column, SortedTable } from "./table.tsx";

const POLL_MS = 400;

const Invariant = ({ of }: { of: InvariantResult }): VNode => (
  <li data-invariant={of.invariant} class={of.ok ? "holds" : "broken"}>
    <span class={`status ${of.ok ? "is-good" : "is-bad"}`}>
      {of.ok ? operatorWords.verification.hold : operatorWords.verification.broke}
    </span>{" "}
    {of.invariant}. {of.name}
    {of.note !== undefined && <p>{of.note}</p>}
    {of.offending.length > 0 && (
      <details>
        <summary>{operatorWords.verification.rows(of.offending.length)}</summary>
        <ul>
          {of.offending.map((row) => (
            <li key={JSON.stringify(row)}>
              <code>{JSON.stringify(row)}</code>
            </li>
          ))}
        </ul>
      </details>
    )}
  </li>
);

const verdictOf = ({ fault, results, sums, tookMs, transfers }: VerificationResult): string => {
  const says = operatorWords.verification;
  if (fault !== null) return says.failed(fault);
  const broken = results.filter(({ ok }) => !ok).length;
  const wrong = sums.filter((one) => one.balanceCredits !== one.transferCredits).length;
  if (broken + wrong === 0) return says.holds(results.length, number(transfers), span(tookMs));
  return says.broken(broken, wrong, number(transfers), span(tookMs));
};

const sumColumns = (): readonly Column<SumsCompared>[] => {
  const { columns: says } = operatorWords.verification;
  const { yes, no } = operatorWords.operator;
  return [
    { says: says.sum, cell: ({ name }) => name },
    { says: says.balances, cell: ({ balanceCredits }) => usd(balanceCredits), isNumber: true },
    { says: says.transfers, cell: ({ transferCredits }) => usd(transferCredits), isNumber: true },
    { says: says.agree, cell: (row) => (row.balanceCredits === row.transferCredits ? yes : <strong class="bad">{no}</strong>) },
  ];
};

const Running = ({ of }: { of: VerificationRun }): VNode => (
  <p>
    <label>
      {operatorWords.verification.running(of.done, of.of)} <progress {...(of.of > 0 ? { value: of.done, max: of.of } : {})} />
    </label>
  </p>
);

export const LedgerVerificationPage = (): VNode => {
  const page = useQuery<VerificationView>(`${API}/verification`);
  const [fault, setFault] = useState("");
  const { value, again, put } = page;
  useEffect(() => {
    if (!value?.running) return;
    const timer = setTimeout(again, POLL_MS);
    return () => clearTimeout(timer);
  }, [value, again]);
  const begin = () => {
    setFault("");
    call<VerificationView>("POST", `${API}/verification`).then(put, (thrown: unknown) => setFault(errorText(thrown)));
  };
  const says = operatorWords.verification;
  return (
    <Awaited of={page}>
      {({ running, last, invariants }) => {
        const shown = running ?? last;
        return (
          <>
            <p class="muted">{says.about(invariants)}</p>
            <p class="actions">
              <button type="button" class="button is-main" onClick={begin} aria-disabled={running !== null}>
                {says.begin}
              </button>
            </p>
            {running && <Running of={running} />}
            <PageMessage text={fault !== "" || running !== null || last === null ? fault : verdictOf(last)} />
            {shown && <p class="muted">{(running ? says.started : says.last)(timeText(shown.startedAtMs), shown.by)}</p>}
            {running === null && last && last.sums.length > 0 && (
              <SortedTable caption={says.caption} columns={sumColumns()} rows={last.sums} keyOf={({ name }) => name} />
            )}
            {shown && (
              <ol class="plain invariants">
                {shown.results.map((result) => (
                  <Invariant key={result.invariant} of={result} />
                ))}
              </ol>
            )}
            {shown === null && <p class="empty">{says.never}</p>}
          </>
        );
      }}
    </Awaited>
  );
};
