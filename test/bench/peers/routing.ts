// Bench of routing: the service from submission to delivery, all durable, against one passed call of the gateways of peers.

import { type Bench, type Env, hold, NoPeer, type Result } from "../bench.ts";
import { openCpu } from "../machine.ts";
import { startMeter } from "../measure.ts";
import { seatedOn } from "../provided.ts";
import { beside, type Side } from "../rounds.ts";
import { type Stage, withService } from "../sides.ts";
import { type LifeSide, playTurns, type Round, type Turn, turnOf } from "../turns.ts";
import { IN_FLIGHT, INPUT, ON_REPLICATE, type Provider, requireDelivery, startSubmitter, withProvider } from "../upstream.ts";
import { installLitellm, LITELLM_KEY, startLitellm } from "./litellm.ts";
import { installPeers } from "./packages.ts";
import type { Part } from "./parts.ts";
import { sideOf } from "./peer.ts";
import { pictureCalls, startPictureUpstream, startPortkey } from "./portkey.ts";

const BODY = JSON.stringify({ model: "picture", prompt: INPUT.prompt, n: 1 });
const WARM_MS = 3_000;

/** A gateway that passes one call. `headers`: by which it is authorized and routed. `connections`: its calls at a time. */
type Gateway = { name: string; part: Part; headers: Readonly<Record<string, string>>; connections: number; target: number };

/** A gateway of another program. A slow one has fewer calls at a time, so that its calls end within a round. */
type GatewayPlan = Omit<Gateway, "part" | "headers"> & { open(env: Env, upstream: Part): Promise<Gateway> };

const PORTKEY: GatewayPlan = {
  ...{ name: "Portkey", connections: IN_FLIGHT, target: 1 },
  open: async (env, upstream) => {
    await installPeers(env.report);
    const headers = {
      authorization: "Bearer bench",
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": `http://127.0.0.1:${upstream.port}/v1`,
    };
    return { ...PORTKEY, part: await startPortkey(), headers };
  },
};
const LITELLM: GatewayPlan = {
  ...{ name: "LiteLLM", connections: 64, target: 6 },
  open: async (env, upstream) => {
    await installLitellm(env.report);
    return { ...LITELLM, part: await startLitellm(upstream.port), headers: { authorization: `Bearer ${LITELLM_KEY}` } };
  },
};

/** @throws unless the gateway returns the upstream's response. */
const requireImage = async ({ name, part, headers }: Gateway): Promise<void> => {
  const response = await fetch(`http://127.0.0.1:${part.port}/v1/images/generations`, {
    ...{ method: "POST", body: BODY, headers: { ...headers, "content-type": "application/json" } },
  });
  const text = await response.text();
  if (response.status !== 200 || !text.includes("picture.jpg"))
    throw new Error(`${name} answered ${response.status}: ${text.slice(0, 300)}`);
};

/** Calls of a gateway as turns. */
const callsOf = ({ name, part, headers, connections }: Gateway, upstream: Part): Turn & { stop(): void } => {
  const side: Side = Object.assign(sideOf(name, part), { streams: [pictureCalls(headers, BODY)] });
  const meter = startMeter(side);
  const helped = openCpu(upstream.pids);
  const call = async (ms: number): Promise<Round> => {
    helped();
    const fromMono = performance.now();
    const seen = await meter.measure({ connections, rate: null, warmMs: ms / 4, forMs: ms });
    // The upstream is on the load's core, too.
    const share = seen.share + helped().all / 1e6 / (performance.now() - fromMono);
    const wrong = Object.keys(seen.statuses).find((status) => status !== "200");
    if (wrong !== undefined || seen.broken > 0)
      throw new Error(`${name}: answers of ${wrong}, ${seen.broken} broken connections`);
    // The compilation time of another runtime is not separable; the gateways are warm after 1 s.
    return { ...seen, share, writtenKb: 0, compiled: 0 };
  };
  const warm = async () => {
    await call(WARM_MS);
    return WARM_MS / 1000;
  };
  return { name, warm, play: call, stop: () => meter.stop() };
};

const playBeside = async (env: Env, provider: Provider, stage: Stage, gateway: Gateway, upstream: Part): Promise<Result> => {
  const player = await startSubmitter(stage, ON_REPLICATE);
  const helpers = [provider.pid, player.pid];
  const ours: LifeSide = {
    ...{ name: "the service", dir: stage.dir, model: ON_REPLICATE, pid: stage.service.pid, helpers, player },
  };
  const calls = callsOf(gateway, upstream);
  const seen = await playTurns({ ours: turnOf(ours), other: calls }, env).finally(() => calls.stop());
  player.stop();
  await requireDelivery(ours, provider);
  const { name, connections, target } = gateway;
  const sides = `the service, ${IN_FLIGHT} at a time / ${name}, ${connections} at a time`;
  const held = { name: `routing, ${name}`, unit: "req/s", sides, target, wants: "at least", ...beside(seen) } as const;
  return hold(held, seen.ours.perSecond, seen.other.perSecond);
};

/**
 * The service has no dialect whose submission waits for the picture; Replicate's is the nearest: one submission and one poll, and
 * the picture of 100 kB is downloaded, measured, hashed and synced. A gateway makes one call, receives a URL at once, and stores
 * neither the request nor the picture.
 */
const playRouting = (env: Env, plan: GatewayPlan): Promise<Result> =>
  withProvider(async (provider) => {
    const upstream = await startPictureUpstream();
    try {
      const gateway = await plan.open(env, upstream);
      try {
        await requireImage(gateway);
        const settings = seatedOn(provider, [ON_REPLICATE]);
        return await withService({ env: settings }, (stage) => playBeside(env, provider, stage, gateway, upstream));
      } finally {
        await gateway.part.stop();
      }
    } finally {
      await upstream.stop();
    }
  });

export const routing: Bench = {
  name: "routing",
  compares:
    "one picture: the service from submission to delivery, all of it durable / one call through the gateways of Portkey and LiteLLM",
  fetches: installPeers,
  run: async (env) => {
    const results = [await playRouting(env, PORTKEY)];
    try {
      results.push(await playRouting(env, LITELLM));
    } catch (fault) {
      if (!(fault instanceof NoPeer)) throw fault;
      env.skip("LiteLLM", fault.message);
    }
    return results;
  },
};
