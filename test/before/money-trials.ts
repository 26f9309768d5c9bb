// Trials of money and of load on others: bombs, silent links, debts, payments and inconclusive provider responses.
import { createServer } from "node:http";
import { deliver, type Event, type openStripe } from "../billing/stripe-server.ts";
import { BOMBS, piecesOf } from "../bombs/all.ts";
import { sizeOf, slice } from "../bombs/bytes.ts";
import { mp4, png } from "../media/made.ts";
import { ranged, type Seen, type Shown, type Trial, type World, whole } from "./trial.ts";

const MIB = 1024 * 1024;
/** The longest response time of /healthz during some work, ms. */
const silence = async (world: World, during: () => Promise<unknown>): Promise<number> => {
  const url = `${world.place.nodes[0]?.url}/healthz`;
  let [worst, isOver] = [0, false];
  const polling = (async () => {
    while (!isOver) {
      const atMs = performance.now();
      await fetch(url, { signal: AbortSignal.timeout(120_000) }).then(
        (answer) => answer.arrayBuffer(),
        () => undefined,
      );
      worst = Math.max(worst, performance.now() - atMs);
      await Bun.sleep(30);
    }
  })();
  await during();
  isOver = true;
  await polling;
  return Math.round(worst);
};
const bomb = (name: string, bytes: number): Uint8Array => {
  const index = BOMBS.findIndex((one) => one.name === name);
  const pieces = piecesOf({ index, bytes, isCut: false, hasRanges: false });
  return slice(pieces, 0, sizeOf(pieces));
};
const bombed =
  (name: string, bytes: number, mime: string) =>
  async (world: World): Promise<Seen> => {
    const url = world.at(whole(bomb(name, bytes), mime));
    const [rich] = world.place.rich;
    let said = 0;
    const ms = await silence(world, async () => {
      said = (await world.order({ model: "vidmodel-2.5", input: { prompt: "x", duration: 4, video_urls: [url] } }, rich)).status;
    });
    return { isRight: ms <= 600, seen: `/healthz of others waited ${ms} ms; it was answered ${said}` };
  };

/** The balance of an account by the command line. */
type Balance = { available_usd: number; held_usd: number; owed_usd: number; paused?: boolean };
const balanceOf = async ({ json }: World, account: string): Promise<Balance> => {
  const shown = await json<Balance>("credits", "show", "--account", account);
  const accounts = await json<{ id: string; paused: boolean }[]>("accounts", "list");
  return { ...shown, paused: accounts.find(({ id }) => id === account)?.paused ?? false };
};

/** A two-faced server: the service measures a clip of 4 s, the provider receives 30 s. */
const twoFaced = async (world: World): Promise<Seen> => {
  const [short, long] = [await mp4({ seconds: 4 }), await mp4({ seconds: 30 })];
  const url = world.at((request) => {
    const isOurs = (request.headers.get("user-agent") ?? "").includes("genrouter");
    return ranged(isOurs ? short : long, "video/mp4")(request);
  });
  const shown = await world.made({ model: "vidmodel-2.5", input: { prompt: world.word(), resolution: "480p", video_url: url } });
  const perSecond = (shown.cost_usd ?? 0) / (shown.output?.duration_s ?? 1);
  const honest = shown.quoted_usd / 4;
  return {
    isRight: shown.status === "failed" || perSecond > honest * 0.9,
    seen: `${shown.status}, charged ${shown.cost_usd} for ${shown.output?.duration_s} s, where 4 s are ${shown.quoted_usd}`,
  };
};

/** An account without credits submits links to a silent server; others submit a picture meanwhile. */
const places = async (world: World): Promise<Seen> => {
  const silent = createServer(() => undefined);
  await new Promise<void>((ready) => silent.listen(0, "127.0.0.1", () => ready()));
  const address = silent.address();
  const port = typeof address === "object" ? address?.port : 0;
  const picture = world.at(ranged(await png(640, 480), "image/png"));
  const links = Array.from({ length: 10 }, (_, n) => `http://127.0.0.1:${port}/${n}.png`);
  let isOver = false;
  const attack = (async () => {
    const asked: Promise<unknown>[] = [];
    while (!isOver) {
      asked.push(
        world.order(
          { model: "vidmodel-2.5", input: { prompt: "x", duration: 4, image_urls: links, video_urls: links, audio_urls: links } },
          world.place.poor,
        ),
      );
      await Bun.sleep(100);
    }
    await Promise.all(asked);
  })();
  await Bun.sleep(7000);
  const honest = await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      await Bun.sleep(n * 700);
      const atMs = performance.now();
      const { status } = await world.order({
        model: "vidmodel-2.5",
        input: { prompt: "x", resolution: "480p", duration: 4, image_url: picture },
      });
      return { status, seconds: (performance.now() - atMs) / 1000 };
    }),
  );
  isOver = true;
  silent.closeAllConnections();
  silent.close();
  await attack;
  const said = honest.map(({ status, seconds }) => `${status} after ${seconds.toFixed(1)} s`).join(", ");
  return { isRight: honest.every(({ status, seconds }) => status === 202 && seconds < 8), seen: `others were answered ${said}` };
};

const debt = async (world: World): Promise<Seen> => {
  const [, debtor] = world.place.rich;
  const prompt = `${world.word()}[sim:fail-later] [sim:modelark:fail-later] [sim:fal:fail-later] [sim:wavespeed:fail-later] [sim:replicate:fail-later] [sim:runware:fail-later] x`;
  const { status, body } = await world.order(
    { model: "vidmodel-2.0-fast", input: { prompt, resolution: "720p", duration: 8 } },
    debtor,
  );
  if (status !== 202) return { isRight: false, seen: `${status} ${body.slice(0, 200)}` };
  await world.place.command("credits", "take", "--account", debtor.id, "--usd", "150", "--note", "a dispute");
  await world.place.command("accounts", "resume", debtor.id);
  await world.until((JSON.parse(body) as Shown).id, debtor);
  const { available_usd, owed_usd } = await balanceOf(world, debtor.id);
  const next = await world.order({ model: "vidmodel-2.0-fast", input: { prompt: "x", resolution: "480p", duration: 4 } }, debtor);
  return {
    isRight: available_usd === 0 && next.status === 402,
    seen: `available ${available_usd}, owed ${owed_usd}; the next submission is answered ${next.status}`,
  };
};

/** PixVerse returns an unknown code for a job that exists. */
const words = async (world: World): Promise<Seen> => {
  await world.leaveOn("pixverse-v6", "pixverse");
  world.change("pixverse", (json) =>
    "Resp" in json
      ? { ErrCode: 99_999, ErrMsg: "invalid response from the scheduler, please query later", Resp: null }
      : undefined,
  );
  const { status, body } = await world.order({ model: "pixverse-v6", input: { prompt: world.word(), duration: 5 } });
  if (status !== 202) return { isRight: false, seen: `${status} ${body.slice(0, 200)}` };
  await Bun.sleep(6000);
  const { id } = JSON.parse(body) as Shown;
  const answer = await fetch(`${world.place.nodes[0]?.url}/v1/generations/${id}`, {
    headers: { authorization: `Bearer ${world.place.honest.key}` },
  });
  const shown = (await answer.json()) as Shown;
  world.change("pixverse", () => undefined);
  return {
    isRight: shown.status === "running",
    seen: `${shown.status}${shown.error ? `, ${shown.error.code}` : ""}${shown.message ? `, "${shown.message}"` : ""}`,
  };
};

/** A purchase that the service knows only from its payment event. */
const purchased = async (
  world: World,
  stripe: ReturnType<typeof openStripe>,
  n: number,
): Promise<{ account: string; payment: string; send: (event: Event) => Promise<unknown> }> => {
  const { output } = await world.place.command("accounts", "create", "--name", `buyer ${n}`);
  const [account = ""] = /acc_\w+/.exec(output) ?? [];
  const send = (event: Event) => deliver(world.place.nodes[0]?.url ?? "", event);
  const id = `pur_${String(n).padStart(26, "0")}`;
  const payment = `pi_trial_${n}`;
  const session = {
    ...{ id: `cs_trial_${n}`, object: "checkout.session", status: "complete", payment_status: "paid", payment_intent: payment },
    ...{ amount_total: 2500, currency: "usd", metadata: { purchase_id: id, account_id: account, credits: "2500" } },
  };
  await send(stripe.event("checkout.session.completed", session));
  return { account, payment, send };
};
const later = (event: Event, days: number): Event => ({ ...event, created: event.created + days * 86_400 });

export const moneyTrials = (stripe: ReturnType<typeof openStripe>): readonly Trial[] => [
  {
    id: "debt-repayment",
    says: "uses the released credits of a failed generation to pay a debt, and allows no hold meanwhile",
    run: debt,
  },
  { id: "unknown-error-code", says: "does not treat an unknown PixVerse code as proof that no job exists", run: words },
  {
    id: "dispute-other-currency",
    says: "pauses the account and takes no credits for a dispute in euros",
    run: async (world) => {
      const { account, payment, send } = await purchased(world, stripe, 1);
      const dispute = {
        id: "dp_eur",
        object: "dispute",
        amount: 2300,
        currency: "eur",
        payment_intent: payment,
        status: "needs_response",
      };
      await send(stripe.event("charge.dispute.created", dispute));
      const { available_usd, paused } = await balanceOf(world, account);
      return {
        isRight: available_usd === 25 && paused === true,
        seen: `available ${available_usd}, ${paused ? "paused" : "not paused"}`,
      };
    },
  },
  {
    id: "dispute-lost-later",
    says: "takes the credits back when a dispute that was won is lost later",
    run: async (world) => {
      const { account, payment, send } = await purchased(world, stripe, 2);
      await send(stripe.dispute("created", payment, 2500, "needs_response"));
      await send(later(stripe.dispute("closed", payment, 2500, "won"), 30));
      const won = await balanceOf(world, account);
      await send(later(stripe.dispute("closed", payment, 2500, "lost"), 90));
      const lost = await balanceOf(world, account);
      return {
        isRight: won.available_usd === 25 && lost.available_usd === 0,
        seen: `won: available ${won.available_usd}; lost: available ${lost.available_usd}`,
      };
    },
  },
  { id: "pinned-input", says: "bills the clip that the provider receives", run: twoFaced },
];

/** Trials that load the service: they run one after the other, after all others. */
export const HEAVY_TRIALS: readonly Trial[] = [
  { id: "unresponsive-links", says: "reads the pictures of others while links lead to a silent server", run: places },
  {
    id: "mp4-tracks",
    says: "answers /healthz within 600 ms during an MP4 with 2 MiB of tracks",
    run: bombed("mp4, tracks", 2 * MIB, "video/mp4"),
  },
  {
    id: "adts-frames",
    says: "answers /healthz within 600 ms during 255 KiB of empty ADTS frames",
    run: bombed("adts, frames of nothing", 255 * 1024, "audio/aac"),
  },
];

/** Faults that the trials do not cover, and why. */
export const NOT_SHOWN: readonly (readonly [id: string, why: string])[] = [
  [
    "a node of a cluster ends during an expensive input",
    "npm run bombs -- --nodes 2 --binary PATH covers it: it needs PostgreSQL and minutes",
  ],
  [
    "slow provider error texts",
    "the slow texts must come from a provider in one of 17 dialects; test/regressions/provider-error-text-time.test.ts covers each of them",
  ],
  [
    "adaptive pricing of a checkout",
    "only a signed-in user can start a checkout; test/regressions/payment-reversals.test.ts covers the request",
  ],
  [
    "pipelined request",
    "a request pipelined after a POST closes the connection as before: the rule is documented now, and nothing is charged",
  ],
  [
    "billed response without a file",
    "only the provider's response says whether an empty result was billed; test/regressions/billed-response-without-file.test.ts covers it",
  ],
];
