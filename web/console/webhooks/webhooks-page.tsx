// `/console/webhooks`: webhook endpoints with their condition, their secrets, and all deliveries.
import { Plus, Webhook } from "lucide";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { EndpointDto, WebhooksPage } from "../../../src/console/webhooks-dto.ts";
import { errorText } from "../../components/api.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Icon } from "../../components/icon.tsx";
import { lockUnless, ReadOnlyNote } from "../../components/read-only.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { showToast } from "../../components/toast.tsx";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { queryOf } from "../credits/amounts.ts";
import type { ViewProps } from "../pages.tsx";
import { DeliveryList } from "./deliveries.tsx";
import { type WebhookAction, WebhookDialog } from "./endpoint-dialogs.tsx";
import { EndpointList } from "./endpoint-list.tsx";
import { sendTest, setEnabled, WEBHOOKS } from "./endpoint-requests.ts";
import { defaultSecret } from "./secret-dialogs.tsx";
import { useDeliveries } from "./use-deliveries.ts";

type Act = (action: WebhookAction) => void;

const NewEndpoint = ({ id, mayChange, act }: { id?: string; mayChange: boolean; act: Act }): VNode => (
  <button id={id} type="button" class="button is-main" {...lockUnless(mayChange)} onClick={() => act({ kind: "create" })}>
    <Icon of={Plus} />
    {words.webhooks.create}
  </button>
);

const Head = ({ page: { account, mayChange }, act }: { page: WebhooksPage; act: Act }): VNode => (
  <>
    <div class="page-head">
      <p>{words.webhooks.about(account.name)}</p>
      <div class="row-actions">
        <button type="button" class="button" {...lockUnless(mayChange)} onClick={() => act(defaultSecret())}>
          {words.webhooks.defaultSecret}
        </button>
        <NewEndpoint id="new-endpoint" mayChange={mayChange} act={act} />
      </div>
    </div>
    {!mayChange && <ReadOnlyNote />}
  </>
);

const NoEndpoint = (of: { mayChange: boolean; act: Act }): VNode => (
  <EmptyState icon={Webhook} title={words.webhooks.none} about={words.webhooks.noneAbout}>
    <NewEndpoint {...of} />
    <a class="button" href="/docs/guides/webhooks">
      {words.webhooks.guide}
    </a>
  </EmptyState>
);

/** The open dialog. When it closes and the element that opened it was removed, the focus moves to the head of the page. */
const useAction = (page: WebhooksPage | undefined) => {
  const [action, act] = useState<WebhookAction | null>(null);
  const hadDialog = useRef(false);
  useEffect(() => {
    if (action !== null) hadDialog.current = true;
    else if (hadDialog.current && document.activeElement === document.body) document.getElementById("new-endpoint")?.focus();
  }, [action, page]);
  return [action, act] as const;
};

export const WebhooksView = ({ account }: ViewProps): VNode => {
  const { value: page, fault, again } = useQuery<WebhooksPage>(`${WEBHOOKS}${queryOf({ account })}`);
  const deliveries = useDeliveries(account, again);
  const [action, act] = useAction(page);
  const [wrong, setWrong] = useState<string | null>(null);
  const run = (work: () => Promise<string>) => {
    setWrong(null);
    const done = (said: string) => {
      showToast(said);
      again();
    };
    work().then(done, (thrown: unknown) => setWrong(errorText(thrown)));
  };
  const test = (endpoint: EndpointDto) =>
    run(async () => {
      deliveries.follow(await sendTest(endpoint, account));
      return words.webhooks.testSent;
    });
  const flip = (endpoint: EndpointDto) =>
    run(async () => {
      await setEnabled(endpoint, !endpoint.enabled, account);
      return endpoint.enabled ? words.webhooks.nowDisabled : words.webhooks.nowEnabled;
    });
  const done = (said: string, next?: WebhookAction) => {
    showToast(said);
    act(next ?? null);
    again();
    deliveries.again();
  };
  const shown = wrong ?? fault;
  return (
    <>
      {page && <Head page={page} act={act} />}
      {shown !== null && (
        <p class="notice is-bad" role="alert">
          {shown}
        </p>
      )}
      {page === undefined && fault === null && <Skeleton lines={4} label={words.webhooks.loading} />}
      {page?.endpoints.length === 0 && <NoEndpoint mayChange={page.mayChange} act={act} />}
      {page && page.endpoints.length > 0 && <EndpointList {...{ page, act, test, flip }} />}
      {page && <DeliveryList of={deliveries} account={account} mayChange={page.mayChange} />}
      {action !== null && <WebhookDialog key={action.kind} {...{ action, account, done }} close={() => act(null)} />}
    </>
  );
};
