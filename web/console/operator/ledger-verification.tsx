// `/console/operator/verification`: verifies the live ledger and shows invariants and sums.

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type {
  InvariantResult,
  VerificationResult,
  VerificationRun,
  VerificationView,
} from "../../../src/console/operator-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { timeText, usd } from "../../components/format.ts";
import { useQuery } from "../../components/use-query.ts";
import { count, span } from "./format.ts";
import { API, Awaited, PageMessage } from "./page.tsx";

const POLL_MS = 400;

const Invariant = ({ of }: { of: InvariantResult }): VNode => (
  <li data-invariant={of.invariant} class={of.ok ? "holds" : "broken"}>
    <span class={`status ${of.ok ? "is-good" : "is-bad"}`}>{of.ok ? "holds" : "broken"}</span> {of.invariant}. {of.name}
    {of.note !== undefined && <p>{of.note}</p>}
    {of.offending.length > 0 && (
      <details>
        <summary>{count(of.offending.length, "row")} against it</summary>
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
  if (fault !== null) return `The verification failed without a result: ${fault}`;
  const broken = results.filter(({ ok }) => !ok).length;
  const wrong = sums.filter((one) => one.balanceCredits !== one.transferCredits).length;
  const took = `${count(transfers, "transfer")} in ${span(tookMs)}`;
  if (broken + wrong === 0) return `All ${results.length} invariants hold and all sums agree: ${took}.`;
  return `${count(broken, "invariant is", "invariants are")} broken, ${count(wrong, "sum does", "sums do")} not agree: ${took}. Pause sales and examine the rows.`;
};

const Sums = ({ of }: { of: VerificationResult }): VNode => (
  <table class="sheet">
    <caption class="unseen">Sums of balances against transfers</caption>
    <thead>
      <tr>
        <th scope="col">Sum</th>
        <th scope="col" class="number">
          Balances
        </th>
        <th scope="col" class="number">
          Transfers
        </th>
        <th scope="col">Agree</th>
      </tr>
    </thead>
    <tbody>
      {of.sums.map(({ name, balanceCredits, transferCredits }) => (
        <tr key={name}>
          <td data-says="Sum">{name}</td>
          <td data-says="Balances" class="number">
            {usd(balanceCredits)}
          </td>
          <td data-says="Transfers" class="number">
            {usd(transferCredits)}
          </td>
          <td data-says="Agree">{balanceCredits === transferCredits ? "yes" : "no"}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

const Running = ({ of }: { of: VerificationRun }): VNode => (
  <p>
    <label>
      Running{of.of > 0 && `, ${of.done} of ${of.of} checks`} <progress {...(of.of > 0 ? { value: of.done, max: of.of } : {})} />
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
  return (
    <Awaited of={page}>
      {({ running, last, invariants }) => {
        const shown = running ?? last;
        return (
          <>
            <p class="muted">
              Checks every generation, attempt and transfer against the {invariants} invariants, in separate threads. The service
              continues during the run. Rows that change during the run are checked in their state at that moment.
            </p>
            <p>
              <button type="button" class="button is-main" onClick={begin} aria-disabled={running !== null}>
                Verify the ledger
              </button>
            </p>
            {running && <Running of={running} />}
            <PageMessage text={fault !== "" || running !== null || last === null ? fault : verdictOf(last)} />
            {shown && (
              <p class="muted">
                {running ? "Started" : "Last run"} {timeText(shown.startedAtMs)} by {shown.by}
              </p>
            )}
            {running === null && last && last.sums.length > 0 && <Sums of={last} />}
            {shown && (
              <ol class="plain invariants">
                {shown.results.map((result) => (
                  <Invariant key={result.invariant} of={result} />
                ))}
              </ol>
            )}
            {shown === null && <p class="empty">The ledger has not been verified since the service started.</p>}
          </>
        );
      }}
    </Awaited>
  );
};
