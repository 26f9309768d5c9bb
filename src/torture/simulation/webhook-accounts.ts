// Accounts of a simulated world that use webhooks: they create endpoints, rotate secrets, disable, enable and delete.
import type { Owner, WebhookService } from "../../webhooks/service.ts";
import { type SendRequest, untilAnswered } from "./client-requests.ts";
import type { CoverageCounters } from "./coverage-counters.ts";
import type { Faults } from "./faults.ts";
import type { Rng } from "./rng.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import type { Receivers } from "./webhook-receivers.ts";

const MINUTE_MS = 60_000;
/** Endpoints are created within this time. */
const CREATED_WITHIN_MS = 20_000;
const EVENTS = [
  "*",
  "*",
  "generation.succeeded generation.failed",
  "generation.failed",
  "generation.running generation.succeeded",
];
/** The previous secret signs for this time, and the receiver changes to the new one before. */
const OVERLAP_MS = 24 * 60 * MINUTE_MS;
const CHANGED_WITHIN_MS = [MINUTE_MS, 20 * MINUTE_MS] as const;
/** Usually shorter than the rising pauses of the retries, sometimes hours. */
const OUT_MINUTES = [0.2, 2, 8, 40, 300] as const;

/** The address that a submission names for its own events. */
export const ownAddress = (account: number, name: string): string => `https://hooks.example.com/own/${account}/${name}`;

export type WebhookAccountsDeps = {
  world: Timeline;
  trace: Trace;
  dice: Rng;
  faults: () => Faults;
  send: SendRequest;
  accountSeqs: readonly number[];
  receivers: Receivers;
  situations: CoverageCounters;
  isPeace: () => boolean;
};
/** An endpoint whose id its client knows. */
type OwnedEndpoint = { owner: Owner; account: number; id: string; url: string };
/** The addresses of submissions of an account, which share its default secret. */
type OwnAddresses = { secret: string; urls: string[] };

/** Requests to the webhook service; `repeat` repeats one until it is answered. */
const createAsk = ({ world, dice, send, accountSeqs }: WebhookAccountsDeps) => {
  const ask = <T>(request: (service: WebhookService) => Promise<T>) => send((node) => node.webhooks(), request);
  return {
    ask,
    repeat: <T>(request: (service: WebhookService) => Promise<T>) => untilAnswered(world, dice, () => ask(request)),
    ownerOf: (account: number): Owner => ({
      ...{ accountSeq: accountSeqs[account] ?? 0, accountId: `acc_${account}`, keySeq: account + 1 },
    }),
  };
};

/** Rotates secrets. A receiver verifies with the new secret only after a while. */
const createRotation = (
  deps: WebhookAccountsDeps,
  known: readonly OwnedEndpoint[],
  own: ReadonlyMap<number, OwnAddresses>,
): ((account: number) => Promise<void>) => {
  const { world, dice, trace, receivers, situations } = deps;
  const { ask, repeat, ownerOf } = createAsk(deps);
  /** Secrets that were rotated, and that their receivers do not use yet. A second rotation would end the one in use. */
  const changing = new Set<string>();
  const changeLater = (name: string, change: () => void): void =>
    void world.after(dice.between(...CHANGED_WITHIN_MS), () => {
      change();
      changing.delete(name);
      situations.count("secretsChanged");
    });
  const rotateOne = async (name: string, { owner, id, url }: OwnedEndpoint): Promise<void> => {
    await ask((service) => service.rotate(owner, id, OVERLAP_MS));
    const { secret } = await repeat((service) => service.secret(owner, id));
    changeLater(name, () => receivers.knows(url, secret));
  };
  const rotateDefault = async (name: string, owner: Owner, addresses: OwnAddresses): Promise<void> => {
    await ask((service) => service.rotateDefault(owner, OVERLAP_MS));
    const { secret } = await repeat((service) => service.defaultSecret(owner));
    changeLater(name, () => {
      addresses.secret = secret;
      for (const url of addresses.urls) receivers.knows(url, secret);
    });
  };
  return async (account) => {
    const endpoint = dice.pick([undefined, ...known.filter((one) => one.account === account)]);
    const addresses = own.get(account);
    const name = endpoint?.url ?? `default of ${account}`;
    if (changing.has(name) || !(endpoint ?? addresses)) return;
    changing.add(name);
    trace.report(`c${account}`, "rotate secret", name);
    if (endpoint) await rotateOne(name, endpoint);
    else if (addresses) await rotateDefault(name, ownerOf(account), addresses);
  };
};

/** Creates, changes and deletes endpoints. */
const createEndpointChanges = (deps: WebhookAccountsDeps, known: OwnedEndpoint[]) => {
  const { dice, trace, receivers, situations } = deps;
  const { ask, repeat, ownerOf } = createAsk(deps);
  return {
    create: async (account: number, n: number): Promise<void> => {
      const owner = ownerOf(account);
      const events = dice.pick(EVENTS);
      let tries = 0;
      // A request without a response may have created an endpoint, so each has an address of its own.
      const { endpoint, secret } = await repeat((service) => {
        tries += 1;
        const url = `https://hooks.example.com/${account}/${n}-${tries}`;
        return service.create(owner, { url, events, description: "", enabled: true });
      });
      const { id, url } = endpoint;
      receivers.knows(url, secret);
      known.push({ owner, account, id, url });
      trace.report(`c${account}`, "webhook endpoint", url, events);
    },
    change: async (): Promise<void> => {
      const endpoint = known.length === 0 ? undefined : dice.pick(known);
      if (!endpoint) return;
      const { owner, id, url, account } = endpoint;
      const what = dice.pick(["disable", "disable", "enable", "enable", "delete"] as const);
      if (what === "delete" && !dice.chance(0.2)) return;
      trace.report(`c${account}`, what, url);
      await ask(async (service) => {
        if (what === "delete") await service.remove(owner, id);
        else await service.update(owner, id, { enabled: what === "enable" });
        return "done";
      });
      situations.count(what === "enable" ? "endpointsEnabled" : "endpointsDisabled");
    },
  };
};

export const createWebhookAccounts = (deps: WebhookAccountsDeps) => {
  const { world, dice, faults, receivers, situations, accountSeqs } = deps;
  const { ask, repeat, ownerOf } = createAsk(deps);
  const known: OwnedEndpoint[] = [];
  const own = new Map<number, OwnAddresses>();
  const { create, change } = createEndpointChanges(deps, known);
  const rotate = createRotation(deps, known, own);
  const everyMinute = () => {
    if (deps.isPeace()) return;
    world.after(MINUTE_MS * dice.between(0.5, 1.5), everyMinute);
    if (dice.chance(faults().changedEndpoint)) void change();
    if (dice.chance(faults().rotatedSecret)) void rotate(dice.whole(0, accountSeqs.length - 1));
    if (!dice.chance(faults().absentReceiver) || receivers.urls().length === 0) return;
    receivers.outUntil(dice.pick(receivers.urls()), world.nowMs() + dice.pick(OUT_MINUTES) * MINUTE_MS);
    situations.count("receiversOut");
  };

  return {
    begin: () => {
      for (const account of accountSeqs.keys())
        for (let n = dice.whole(0, 2); n > 0; n -= 1)
          world.after(dice.between(0, CREATED_WITHIN_MS), () => void create(account, n));
      world.after(MINUTE_MS * dice.roll(), everyMinute);
    },
    /** Prepares the receiver of an address that a submission will name. */
    name: async (account: number, url: string): Promise<void> => {
      const { secret } = own.get(account) ?? (await repeat((service) => service.defaultSecret(ownerOf(account))));
      const addresses = own.get(account) ?? { secret, urls: [] };
      own.set(account, addresses);
      addresses.urls.push(url);
      receivers.knows(url, addresses.secret);
    },
    /** After the faults, accounts enable what they or the service disabled. */
    enableAll: async (): Promise<void> => {
      for (const { owner, id } of known)
        if (dice.chance(0.5)) await ask((service) => service.update(owner, id, { enabled: true }));
    },
  };
};
