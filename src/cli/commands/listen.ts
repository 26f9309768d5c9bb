// `genrouter listen`: prints the events of the account, and forwards them to a local address.
import type { Command } from "commander";
import type { AccountEvent, WebhookEvent } from "../../../client/src/client.ts";
import { type WebhookEvent as StreamEvent, WEBHOOK_EVENTS } from "../../domain/webhooks.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { checkForwardUrl, checkSecret, type Forwarded, forwardEvent, newSecret } from "../forward-event.ts";
import {
  type ClientFlags,
  clientOf,
  interruptible,
  type JsonFlag,
  type Session,
  withClient,
  withExamples,
  withJson,
} from "../session.ts";

type Flags = ClientFlags & JsonFlag & { forwardTo?: string; events?: string; secret?: string };
type Forwarding = { url: string; secret: string };

/** Few tries at the start, so that a wrong address is reported within seconds. A lost stream is opened again without limit. */
const START_TRIES = 4;

/** @throws CommandError (usage) */
const typesOf = (events: string | undefined): StreamEvent[] | undefined => {
  if (events === undefined || events === "*") return undefined;
  return events.split(",").map((sent) => {
    const type = WEBHOOK_EVENTS.find((one) => one === sent.trim());
    if (type !== undefined) return type;
    throw new CommandError(EXITS.usage, `--events: ${JSON.stringify(sent)} is none of ${WEBHOOK_EVENTS.join(", ")}`, {
      code: "bad_flag",
    });
  });
};

/** @throws CommandError (usage) */
const forwardingOf = ({ forwardTo, secret }: Flags): Forwarding | undefined => {
  if (forwardTo !== undefined) return { url: checkForwardUrl(forwardTo), secret: secret ? checkSecret(secret) : newSecret() };
  if (secret === undefined) return undefined;
  throw new CommandError(EXITS.usage, "--secret signs requests; add --forward-to URL", { code: "bad_flag" });
};

const describe = (event: WebhookEvent): string => {
  const { data } = event;
  if (data.object === "purchase") return `${data.id}  $${data.amount_usd.toFixed(2)}`;
  if (data.object === "balance") return `$${data.available_usd.toFixed(2)} available`;
  const cost = data.cost_usd === null || data.status === "failed" ? "" : `  charged $${data.cost_usd.toFixed(2)}`;
  const error = data.error === null ? "" : `  ${data.error.code}: ${data.error.message}`;
  return `${data.id}  ${data.model}  attempts ${data.attempts}${cost}${error}`;
};

/** `→ 200 in 12 ms`: the response of the local address. */
const describeForwarded = (forwarded: Forwarded | undefined, { paint }: Session["terminal"]): string => {
  if (forwarded === undefined) return "";
  const { status, durationMs, error } = forwarded;
  const isAccepted = status !== null && status >= 200 && status < 300;
  const result = error === null ? `${status} in ${durationMs} ms` : `not delivered: ${error}`;
  return `  → ${paint(isAccepted ? "green" : "red", result)}`;
};

const jsonLine = ({ id, event }: AccountEvent, forwarded: Forwarded | undefined): string =>
  JSON.stringify({
    ...{ id, ...event },
    ...(forwarded && {
      forwarded: { status: forwarded.status, duration_ms: forwarded.durationMs, error: forwarded.error },
    }),
  });

/** `12:00:09  generation.succeeded  gen_…`, in local time. */
const textLine = (terminal: Session["terminal"], { event }: AccountEvent, forwarded: Forwarded | undefined): string => {
  const time = new Date(event.timestamp).toTimeString().slice(0, 8);
  return `${time}  ${event.type.padEnd(20)}  ${describe(event)}${describeForwarded(forwarded, terminal)}`;
};

/** Prints when the stream is open, lost, and open again. */
const createProgress = (terminal: Session["terminal"]) => {
  let isLost = false;
  return {
    onOpen: () => {
      terminal.progress(null);
      terminal.note(isLost ? "connected again; no event was lost" : "connected; waiting for events (Ctrl-C ends)");
      isLost = false;
    },
    onRetry: (fault: Error, pauseMs: number) => {
      isLost = true;
      terminal.progress(`${fault.message}; connecting again in ${Math.ceil(pauseMs / 1000)} s`);
    },
  };
};

const listen = async (session: Session, flags: Flags, signal: AbortSignal): Promise<void> => {
  const { terminal } = session;
  const types = typesOf(flags.events);
  const forwarding = forwardingOf(flags);
  const client = await clientOf(session, flags);
  // A wrong address or key is reported at once; the stream itself is opened again without limit.
  await client.balance({ signal, tries: START_TRIES });
  if (forwarding) terminal.note(`forwarding to ${forwarding.url}, signed with ${forwarding.secret}`);
  const options = { types, signal, tries: Number.POSITIVE_INFINITY, ...createProgress(terminal) };
  for await (const event of client.listen(options)) {
    const forwarded = forwarding && (await forwardEvent(event, { ...forwarding, signal }));
    terminal.print(flags.json ? jsonLine(event, forwarded) : textLine(terminal, event, forwarded));
  }
};

export const addListen = (program: Command, session: Session): void => {
  const command = program
    .command("listen")
    .description("print the events of the account as they become true, and forward them to a local address")
    .option("--forward-to <url>", "send each event to this address as the signed request of a webhook")
    .option("--events <types>", `types separated by commas, of ${WEBHOOK_EVENTS.join(", ")} (all)`)
    .option("--secret <secret>", "secret that signs forwarded events, as whsec_… (a new one, which is printed)")
    .action(async (flags: Flags) =>
      interruptible(async (signal) => {
        try {
          await listen(session, flags, signal);
        } catch (fault) {
          // Ctrl-C is the usual end of this command.
          if (!(signal.aborted && signal.reason instanceof CommandError)) throw fault;
          session.exit = signal.reason.exit;
          session.terminal.progress(null);
        }
      }),
    );
  withExamples(
    withJson(withClient(command)),
    "listen",
    "listen --forward-to http://localhost:3000/hook",
    "listen --events generation.succeeded,generation.failed --json | jq .data.id",
  );
};
