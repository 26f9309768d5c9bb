// Generation page: state, attempts over time, transfers, input and files.

import type { ComponentChildren, VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { GenerationDetail } from "../../../src/console/generations-dto.ts";
import { timeText } from "../../components/format.ts";
import { useTitle } from "../../components/title.ts";
import { useQuery } from "../../components/use-query.ts";
import { AccountScope } from "../account-scope.tsx";
import { KIND_LABELS, queryOf, usdText } from "../credits/amounts.ts";
import { titleOf } from "../playground/form.ts";
import { CancelButton } from "./cancel-button.tsx";
import { Copy } from "./copy.tsx";
import { DeleteButton } from "./delete-button.tsx";
import { isListening, useEvents } from "./event-stream.ts";
import { bytesText, Files, UseAsInput } from "./files.tsx";
import { StatusBadge } from "./status-badge.tsx";
import { Waterfall } from "./waterfall.tsx";

const Part = ({ id, title, children }: { id: string; title: string; children: ComponentChildren }): VNode => (
  <section class="card" aria-labelledby={id}>
    <h2 id={id}>{title}</h2>
    {children}
  </section>
);

const Facts = ({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }): VNode => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

const Money = ({ of }: { of: GenerationDetail }): VNode => {
  const { heldCredits, chargedCredits, releasedCredits } = of.money;
  const isOver = of.completedAtMs !== null;
  return (
    <Part id="money" title="Money">
      <p class="money-line">
        {usdText(heldCredits)} held
        {isOver
          ? ` → ${usdText(chargedCredits)} charged, ${usdText(releasedCredits)} released`
          : " until the generation has ended"}
      </p>
      <details>
        <summary>
          {of.entries.length} {of.entries.length === 1 ? "transfer" : "transfers"} in the ledger
        </summary>
        <ul>
          {of.entries.map(({ kind, credits, from, to, attemptN, atMs }) => (
            <li key={`${kind} ${atMs}`}>
              {KIND_LABELS[kind]} {usdText(credits)}, from {from} to {to}
              {attemptN === null ? "" : `, for attempt ${attemptN}`}, {timeText(atMs)}
            </li>
          ))}
        </ul>
      </details>
    </Part>
  );
};

const FileFacts = ({ of }: { of: GenerationDetail }): VNode | null =>
  of.status !== "succeeded" ? null : (
    <Part id="files" title={of.files.length === 1 ? "File" : "Files"}>
      <Files of={of} />
      <Facts
        facts={[
          ...(of.width === null ? [] : [["Dimensions", `${of.width} × ${of.height}`] as const]),
          ...(of.durationMs === null ? [] : [["Length", `${(of.durationMs / 1000).toFixed(2)} s`] as const]),
          ...(of.hasAudio === null ? [] : [["Sound", of.hasAudio ? "yes" : "no"] as const]),
          ...(of.filesExpireAtMs === null || of.areFilesGone ? [] : [["Available until", timeText(of.filesExpireAtMs)] as const]),
        ]}
      />
      <ul class="file-list">
        {of.files.map((file) => (
          <li key={file.n}>
            <a href={file.url} download>
              File {file.n}
            </a>{" "}
            {file.mime}, {bytesText(file.bytes)} <UseAsInput of={of} file={file} />
            <span class="hash">
              SHA-256 <code>{file.sha256}</code> <Copy text={file.sha256} says="Copy" of={`the hash of file ${file.n}`} />
            </span>
          </li>
        ))}
      </ul>
    </Part>
  );

const shownValue = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

export const GenerationPage = ({ id }: { id: string }): VNode => {
  const path = `/console/api/generations/${encodeURIComponent(id)}`;
  const { value: of, fault, again } = useQuery<GenerationDetail>(isListening.value ? path : null);
  // The response names the account only to users who may subscribe to its events.
  useEvents(of?.accountId, {
    generation: (news) => {
      if (news.id === id) again();
    },
    again,
  });
  useTitle(of?.prompt ?? undefined);
  const nowMs = useMemo(() => Date.now(), [of]);
  if (fault !== null && !of)
    return (
      <p class="fault" role="alert">
        {fault}
      </p>
    );
  if (!of) return <p aria-busy="true">Loading the generation…</p>;
  return (
    <div class="generation" data-id={of.id} data-status={of.status}>
      <AccountScope account={of.accountId} />
      <div class="page-head">
        <p role="status">
          <StatusBadge status={of.status} /> {of.model}{" "}
          {of.cancelRequestedAtMs === null ? of.message : "Being cancelled; the provider may still deliver."}
        </p>
        <div class="actions">
          {of.completedAtMs === null && of.cancelRequestedAtMs === null && (
            <CancelButton id={of.id} onCancelled={() => again()} />
          )}
          {of.erasedAtMs === null && (
            <a class="button" href={`/console/playground?from=${of.id}`}>
              Use again
            </a>
          )}
          {of.completedAtMs !== null && <DeleteButton of={of} onDeleted={() => again()} />}
          {of.inspectorUrl !== null && (
            <a class="button" href={of.inspectorUrl}>
              Open in the inspector
            </a>
          )}
        </div>
      </div>
      {of.error && (
        <p class="notice is-bad">
          {of.error.message} <code>{of.error.code}</code>
        </p>
      )}
      <FileFacts of={of} />
      <Part id="attempts" title="Attempts">
        <Waterfall of={of} nowMs={nowMs} />
      </Part>
      <Money of={of} />
      <Part id="input" title="Input">
        {of.erasedAtMs !== null && <p>Erased {timeText(of.erasedAtMs)}.</p>}
        <Facts facts={Object.entries(of.input).map(([name, value]) => [titleOf(name), shownValue(value)] as const)} />
      </Part>
      <Part id="about" title="About">
        <Facts
          facts={[
            [
              "Id",
              <>
                <code>{of.id}</code> <Copy text={of.id} says="Copy" of="the id" />
              </>,
            ],
            ...(of.accountId === null ? [] : [["Account", <code key="account">{of.accountId}</code>] as const]),
            [
              "Key",
              <a key="of-key" href={`/console/generations${queryOf({ key: of.keyId, account: of.accountId })}`}>
                {of.keyName}
              </a>,
            ],
            ["Created", timeText(of.createdAtMs)],
            ["Ended", of.completedAtMs === null ? "not yet" : timeText(of.completedAtMs)],
            ["Request", <code key="request">{of.requestId}</code>],
            ...(of.endUser === null ? [] : [["End user", of.endUser] as const]),
            ...Object.entries(of.metadata ?? {}).map(([name, value]) => [`Metadata ${name}`, value] as const),
            ...(of.idempotencyKey === null ? [] : [["Idempotency-Key", <code key="key">{of.idempotencyKey}</code>] as const]),
          ]}
        />
      </Part>
    </div>
  );
};
