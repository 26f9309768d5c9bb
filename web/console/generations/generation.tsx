// Generation page: result, input, cost, attempts over time, and details.
import { RotateCcw } from "lucide";
import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import type { GenerationDetail, ModelsDto } from "../../../src/console/generations-dto.ts";
import type { Json, MediaKind } from "../../../src/domain/types.ts";
import { timeText } from "../../components/format.ts";
import { Icon } from "../../components/icon.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { Time } from "../../components/time.tsx";
import { useTitle } from "../../components/title.ts";
import { useNow } from "../../components/use-now.ts";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { AccountScope } from "../account-scope.tsx";
import { queryOf, usdText } from "../credits/amounts.ts";
import { mediaOf, StoredMedia } from "../files/stored-media.tsx";
import { waited } from "../format.ts";
import { titleOf } from "../playground/form.ts";
import { Progress } from "../playground/progress.tsx";
import { RequestCode } from "../playground/request-code.tsx";
import { CancelButton } from "./cancel-button.tsx";
import { Copy } from "./copy.tsx";
import { DeleteButton } from "./delete-button.tsx";
import { isListening, useEvents } from "./event-stream.ts";
import { bytesText } from "./files.tsx";
import { ResultFiles } from "./result-files.tsx";
import { StatusBadge } from "./status-badge.tsx";
import { Waterfall } from "./waterfall.tsx";

type Of = { of: GenerationDetail };

const Part = ({ id, title, children }: { id: string; title: string; children: ComponentChildren }): VNode => (
  <section class="card" aria-labelledby={id}>
    <h2 id={id}>{title}</h2>
    {children}
  </section>
);

type Fact = readonly [name: string, value: ComponentChildren];
const Facts = ({ facts }: { facts: readonly Fact[] }): VNode => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

const Money = ({ of }: Of): VNode => {
  const { heldCredits, chargedCredits, releasedCredits } = of.money;
  const { generation } = words;
  return (
    <Part id="cost" title={generation.cost}>
      <p class="money-line">
        {of.completedAtMs === null
          ? generation.heldNow(usdText(heldCredits))
          : generation.settled(usdText(heldCredits), usdText(chargedCredits), usdText(releasedCredits))}
      </p>
      <details>
        <summary>{generation.transfers(of.entries.length)}</summary>
        <ul>
          {of.entries.map(({ kind, credits, from, to, attemptN, atMs }) => (
            <li key={`${kind} ${atMs}`}>
              {generation.transfer(words.transferKinds[kind], usdText(credits), from, to)}
              {attemptN === null ? "" : generation.forAttempt(attemptN)}, {timeText(atMs)}
            </li>
          ))}
        </ul>
      </details>
    </Part>
  );
};

const Hash = ({ file }: { file: GenerationDetail["files"][number] }): VNode => (
  <li>
    <a href={file.url} download>
      {words.generation.file(file.n)}
    </a>{" "}
    {file.mime}, {bytesText(file.bytes)}
    <span class="hash">
      SHA-256 <code>{file.sha256}</code>{" "}
      <Copy text={file.sha256} says={words.actions.copy} of={words.generation.hashOf(file.n)} />
    </span>
  </li>
);

const Result = ({ of }: Of): VNode => {
  const { generation } = words;
  const { width, height, durationMs, hasAudio, filesExpireAtMs } = of;
  return (
    <Part id="result" title={generation.result}>
      <ResultFiles of={of} />
      <details>
        <summary>{words.generations.files(of.files.length)}</summary>
        <Facts
          facts={[
            ...(width === null ? [] : [[generation.dimensions, `${width} × ${height}`] as const]),
            ...(durationMs === null ? [] : [[generation.length, `${(durationMs / 1000).toFixed(2)} s`] as const]),
            ...(hasAudio === null ? [] : [[generation.sound, hasAudio ? generation.hasSound : generation.noSound] as const]),
            ...(filesExpireAtMs === null || of.areFilesGone ? [] : [[generation.until, timeText(filesExpireAtMs)] as const]),
          ]}
        />
        <ul class="file-list">
          {of.files.map((file) => (
            <Hash key={file.n} file={file} />
          ))}
        </ul>
      </details>
    </Part>
  );
};

/** Characters from which a text is folded. */
const LONG = 600;
const Text = ({ text }: { text: string }): VNode => {
  const [isWhole, setWhole] = useState(text.length <= LONG);
  if (isWhole) return <>{text}</>;
  return (
    <>
      {text.slice(0, LONG)}…{" "}
      <button type="button" class="button is-small" onClick={() => setWhole(true)}>
        {words.generation.showAll}
      </button>
    </>
  );
};

const kindOfField = (name: string): MediaKind | undefined =>
  (["image", "video", "audio"] as const).find((kind) => name.includes(`${kind}_url`)) ??
  (name === "mask_url" ? "image" : undefined);

/** A value of the input; stored files are shown. */
const Value = ({ name, value }: { name: string; value: Json }): VNode => {
  const kind = kindOfField(name);
  const links = kind === undefined ? [] : (Array.isArray(value) ? value : [value]).filter((one) => typeof one === "string");
  if (kind === undefined || links.length === 0) return <Text text={typeof value === "string" ? value : JSON.stringify(value)} />;
  return (
    <ul class="input-media">
      {links.map((link) => {
        const media = mediaOf(link, kind);
        return (
          <li key={link}>
            {media && (
              <div class="tile-picture">
                <StoredMedia of={media} name={link} />
              </div>
            )}
            <span>{link}</span>
          </li>
        );
      })}
    </ul>
  );
};

const Input = ({ of }: Of): VNode => (
  <Part id="input" title={words.generation.input}>
    {of.erasedAtMs !== null && <p>{words.generation.erased(timeText(of.erasedAtMs))}</p>}
    <Facts
      facts={Object.entries(of.input).map(([name, value]) => [titleOf(name), <Value key={name} name={name} value={value} />])}
    />
    {of.erasedAtMs === null && <RequestCode request={{ model: of.model, input: of.input }} title={words.generation.reproduce} />}
  </Part>
);

const Details = ({ of }: Of): VNode => {
  const { generation } = words;
  const facts: Fact[] = [
    [
      generation.id,
      <>
        <code>{of.id}</code> <Copy text={of.id} says={words.actions.copy} of={generation.theId} />
      </>,
    ],
    ...(of.accountId === null ? [] : [[generation.account, <code key="account">{of.accountId}</code>] as const]),
    [
      generation.key,
      <a key="of-key" href={`/console/generations${queryOf({ key: of.keyId, account: of.accountId })}`}>
        {of.keyName}
      </a>,
    ],
    [generation.created, timeText(of.createdAtMs)],
    [generation.ended, of.completedAtMs === null ? generation.notYet : timeText(of.completedAtMs)],
    ...(of.completedAtMs === null ? [] : [[generation.took, waited(of.completedAtMs - of.createdAtMs)] as const]),
    [generation.request, <code key="request">{of.requestId}</code>],
    ...(of.endUser === null ? [] : [[generation.endUser, of.endUser] as const]),
    ...Object.entries(of.metadata ?? {}).map(([name, value]): Fact => [generation.metadata(name), value]),
    ...(of.idempotencyKey === null ? [] : [["Idempotency-Key", <code key="key">{of.idempotencyKey}</code>] as const]),
  ];
  return (
    <Part id="details" title={generation.details}>
      <Facts facts={facts} />
    </Part>
  );
};

const Head = ({ of, again }: Of & { again: () => void }): VNode => (
  <div class="page-head">
    <p role="status">
      <StatusBadge status={of.status} /> {of.model} · <Time atMs={of.createdAtMs} />{" "}
      {of.cancelRequestedAtMs !== null && of.completedAtMs === null && words.generation.cancelling}
    </p>
    <div class="actions">
      {of.completedAtMs === null && of.cancelRequestedAtMs === null && <CancelButton id={of.id} onCancelled={again} />}
      {of.erasedAtMs === null && (
        <a class="button is-main" href={`/console/playground?from=${of.id}`}>
          <Icon of={RotateCcw} />
          {words.generation.again}
        </a>
      )}
      {of.completedAtMs !== null && <DeleteButton of={of} onDeleted={again} />}
      {of.inspectorUrl !== null && (
        <a class="button" href={of.inspectorUrl}>
          {words.generation.inspector}
        </a>
      )}
    </div>
  </div>
);

export const GenerationPage = ({ id }: { id: string }): VNode => {
  const path = `/console/api/generations/${encodeURIComponent(id)}`;
  const { value: of, fault, again } = useQuery<GenerationDetail>(isListening.value ? path : null);
  const isOpen = of?.completedAtMs === null;
  const { value: known } = useQuery<ModelsDto>(isOpen ? "/console/api/models" : null);
  // The response names the account only to users who may subscribe to its events.
  useEvents(of?.accountId, {
    generation: (news) => {
      if (news.id === id) again();
    },
    again,
  });
  useTitle(of?.prompt?.trim().slice(0, 120) || of?.model);
  const nowMs = useNow(isOpen);
  if (fault !== null && !of)
    return (
      <p class="fault" role="alert">
        {fault}
      </p>
    );
  if (!of) return <Skeleton lines={10} label={words.generation.loading} />;
  const expectedS = known?.models.find(({ id: model }) => model === of.model)?.expectedS ?? null;
  return (
    <div class="generation" data-id={of.id} data-status={of.status}>
      <AccountScope account={of.accountId} />
      <Head of={of} again={again} />
      {isOpen && <Progress of={of} expectedS={expectedS} submittedAtMs={of.createdAtMs} />}
      {of.error && (
        <p class="notice is-bad">
          {of.error.message} <code>{of.error.code}</code>
        </p>
      )}
      {of.status === "succeeded" && <Result of={of} />}
      <Input of={of} />
      <Money of={of} />
      <Part id="attempts" title={words.generation.attempts}>
        <Waterfall of={of} nowMs={nowMs} />
      </Part>
      <Details of={of} />
    </div>
  );
};
