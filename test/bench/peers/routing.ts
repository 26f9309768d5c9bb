// Bench of routing: the service from submission to delivery, all durable, against one passed call of Portkey's gateway.

import { type Bench, hold } from "../bench.ts";
import { openCpu } from "../machine.ts";
import { startMeter } from "../measure.ts";
import { seatedOn } from "../provided.ts";
import { beside, type Side } from "../rounds.ts";
import { type Stage, withService } from "../sides.ts";
import { type LifeSide, playTurns, type Round, type Turn, turnOf } from "../turns.ts";
import { IN_FLIGHT, INPUT, ON_REPLICATE, type Provider, requireDelivery, startSubmitter, withProvider } from "../upstream.ts";
import { installPeers } from "./packages.ts";
import type { Part } from "./parts.ts";
import { sideOf } from "./peer.ts";
import { pictureCalls, startPictureUpstream, startPortkey } from "./portkey.ts";

const BODY = JSON.stringify({ model: "picture", prompt: INPUT.prompt, n: 1 });
const CALL = "/v1/images/generations";
const WARM_MS = 3_000;

/** @throws unless the gateway returns the upstream's response. */
const requireImage = async (port: number, upstream: number): Promise<void> => {
  const response = await fetch(`http://127.0.0.1:${port}${CALL}`, {
    ...{ method: "POST", body: BODY },
    headers: {
      ...{ authorization: "Bearer bench", "content-type": "application/json", "x-portkey-provider": "openai" },
      "x-portkey-custom-host": `http://127.0.0.1:${upstream}/v1`,
    },
  });
  const text = await response.text();
  if (response.status !== 200 || !text.includes("picture.jpg"))
    throw new Error(`Portkey answered ${response.status}: ${text.slice(0, 300)}`);
};

/** Calls of the gateway as turns, with the same concurrency as the service's generations in flight. */
const callsOf = (side: Side, upstream: Part): Turn & { stop(): void } => {
  const meter = startMeter(side);
  const helped = openCpu(upstream.pids);
  const call = async (ms: number): Promise<Round> => {
    helped();
    const fromMono = performance.now();
    const seen = await meter.measure({ connections: IN_FLIGHT, rate: null, warmMs: ms / 4, forMs: ms });
    // The upstream is on the load's core, too.
    const share = seen.share + helped().all / 1e6 / (performance.now() - fromMono);
    const wrong = Object.keys(seen.statuses).find((status) => status !== "200");
    if (wrong !== undefined || seen.broken > 0)
      throw new Error(`Portkey: answers of ${wrong}, ${seen.broken} broken connections`);
    // V8's compilation time is not separable; its gateway was warm after 1 s.
    return { ...seen, share, writtenKb: 0, compiled: 0 };
  };
  const warm = async () => {
    await call(WARM_MS);
    return WARM_MS / 1000;
  };
  return { name: "Portkey", warm, play: call, stop: () => meter.stop() };
};

/**
 * The service has no dialect whose submission waits for the picture; Replicate's is the nearest: one submission and one poll, and
 * the picture of 100 kB is downloaded, measured, hashed and synced. Portkey makes one call, receives a URL at once, and stores
 * neither the request nor the picture.
 */
export const routing: Bench = {
  name: "routing",
  compares:
    "one picture, 256 at a time: the service from submission to delivery, all of it durable / one call through Portkey's gateway",
  fetches: installPeers,
  run: (env) =>
    withProvider(async (provider: Provider) => {
      await installPeers(env.report);
      env.skip("LiteLLM", "its proxy is a Python program of some 300 MB, and the package of its name in npm is another one");
      const upstream = await startPictureUpstream();
      const gateway = await startPortkey();
      await requireImage(gateway.port, upstream.port);
      const other: Side = Object.assign(sideOf("Portkey", gateway), { streams: [pictureCalls(upstream.port, BODY)] });
      const settings = seatedOn(provider, [ON_REPLICATE]);
      const live = async (stage: Stage) => {
        const player = await startSubmitter(stage, ON_REPLICATE);
        const helpers = [provider.pid, player.pid];
        const ours: LifeSide = {
          name: "the service",
          dir: stage.dir,
          model: ON_REPLICATE,
          pid: stage.service.pid,
          helpers,
          player,
        };
        const calls = callsOf(other, upstream);
        const seen = await playTurns({ ours: turnOf(ours), other: calls }, env).finally(() => calls.stop());
        player.stop();
        await requireDelivery(ours, provider);
        const held = {
          name: "routing",
          unit: "req/s",
          sides: `the service / Portkey, ${IN_FLIGHT} at a time`,
          target: 1,
          wants: "at least",
          ...beside(seen),
        } as const;
        return [hold(held, seen.ours.perSecond, seen.other.perSecond)];
      };
      try {
        return await withService({ env: settings }, live);
      } finally {
        await gateway.stop();
        await upstream.stop();
      }
    }),
};
