// The engine of the service: its membership in a cluster, its inputs and its credentials.
import { setImmediate } from "node:timers";
import { createMembership, type Membership } from "../cluster/membership.ts";
import type { Settings } from "../config/schema.ts";
import { createProviderInputs } from "../inputs/provider-inputs.ts";
import type { ComponentList } from "./component-list.ts";
import { type Connection, createConnection } from "./connection.ts";
import { createEngine } from "./engine.ts";
import type { Engine, EngineDeps } from "./engine-types.ts";
import type { LinkComponents } from "./link-components.ts";
import { logMaintenanceFailure } from "./maintenance.ts";
import type { ProviderComponents } from "./provider-components.ts";
import type { ServiceAddress } from "./service-address.ts";
import type { Components, ComponentsDeps } from "./service-types.ts";
import type { InputFiles } from "./upload-components.ts";

/** Caches and queues outside the engine that committed mutations change, those of callers and users also on other nodes. */
export type CallerCaches = Pick<
  EngineDeps,
  "callersChanged" | "usersChanged" | "webhooksChanged" | "balanceFell" | "spendReached"
>;

export type EngineComponent = Pick<Components, "rekeyed" | "rekeyedAll"> & {
  engine: Engine;
  membership: Membership;
};

type EngineParts = ProviderComponents &
  LinkComponents & { address: ServiceAddress; caches: Connection<CallerCaches>; inputFiles: InputFiles };

/** Activates credentials in the provider clients and then in the routes. */
const createRekey = ({ providers }: ProviderComponents, engine: () => Engine): Pick<Components, "rekeyed" | "rekeyedAll"> => ({
  rekeyed: (account, key) => engine().rekeyed(providers.rekey(account, key)),
  rekeyedAll: (keys) => {
    const rekeyedProviders = providers.rekeyAll(keys);
    engine().rekeyed(rekeyedProviders);
    return rekeyedProviders;
  },
});

/** Called when the admin service of another node changed keys, accounts, users or credentials. */
const createRemoteChange = (
  { renewCredentials, log }: ComponentsDeps,
  caches: Connection<CallerCaches>,
  activate: (keys: Settings["providers"]) => unknown,
) => {
  const failed = logMaintenanceFailure(log);
  return () => {
    const { callersChanged, usersChanged } = caches.target();
    callersChanged();
    usersChanged();
    renewCredentials?.(activate).catch(failed);
  };
};

const inputsOf = (
  { settings }: ComponentsDeps,
  { providers, address, inputLinks, inputFiles: { ownFiles, hasFile, openInput } }: EngineParts,
): EngineDeps["inputs"] => ({
  giving: createProviderInputs({
    links: settings.files.provider_links,
    publicUrl: settings.server.public_url,
    providers,
    ownUrl: address.ownUrl,
  }),
  signInput: inputLinks.sign,
  ownFiles,
  hasFile,
  openInput,
  isTrusting: settings.media.unpinned === "trust",
  mostBytes: settings.media.pin_bytes,
});

/** What the engine depends on in a cluster only. */
const leaseOf = ({ leaseKeeper }: Membership): Pick<EngineDeps, "sure" | "isSure" | "isUnavailable" | "unavailableAtMs"> =>
  leaseKeeper === null
    ? {}
    : {
        sure: leaseKeeper.sure,
        isSure: leaseKeeper.isSure,
        isUnavailable: leaseKeeper.isUnavailable,
        unavailableAtMs: leaseKeeper.unavailableAtMs,
      };

export const createEngineComponent = async (
  list: ComponentList,
  deps: ComponentsDeps,
  parts: EngineParts,
): Promise<EngineComponent> => {
  const { settings, clock, log, store, storage } = deps;
  // A cluster reports takeovers to the engine, and the engine asks it for the lease.
  const engineConnection = createConnection<Engine>("engine");
  const rekey = createRekey(parts, engineConnection.target);
  const membership = createMembership({
    node: store.node,
    reads: store,
    clock,
    log,
    ended: deps.unknownOutcome,
    engine: engineConnection.target,
    changed: createRemoteChange(deps, parts.caches, rekey.rekeyedAll),
  });
  const engine = await createEngine({
    limits: settings.limits,
    clock,
    log,
    store,
    files: storage.files,
    providers: parts.providers,
    media: parts.media,
    inputs: inputsOf(deps, parts),
    allowsHost: parts.allowsHost,
    catalogue: deps.catalogue,
    pace: deps.pace,
    maxMismatched: settings.routing.max_mismatched,
    chance: Math.random,
    soon: setImmediate,
    nameGeneration: membership.nameGeneration,
    nodes: membership.nodes,
    isAnotherThere: membership.isAnotherThere,
    ...leaseOf(membership),
    unknownOutcome: deps.unknownOutcome,
    outcomes: storage.outcomes,
    isDiskFull: storage.isDiskFull,
    isBucketDown: storage.isBucketDown,
    stuck: deps.stuck,
    takingUp: deps.takingUp,
    callersChanged: () => parts.caches.target().callersChanged(),
    usersChanged: () => parts.caches.target().usersChanged(),
    webhooksChanged: (mutation, outcome) => parts.caches.target().webhooksChanged(mutation, outcome),
    balanceFell: (lowBalance) => parts.caches.target().balanceFell(lowBalance),
    spendReached: (reached) => parts.caches.target().spendReached(reached),
  });
  engineConnection.connect(engine);
  // Work that waits for the lease is stopped with it, because an unavailable store must not delay the exit.
  list.add({ name: "engine", stop: () => Promise.all([engine.stop(), membership.leaseKeeper?.stop()]) });
  return { engine, membership, ...rekey };
};
