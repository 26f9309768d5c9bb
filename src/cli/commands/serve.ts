// `genrouter serve`: starts the service and its control socket, and drains it at the end.
//
// With the simulator it also creates the demo account.
import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { AdminError } from "../../admin/admin-error.ts";
import { type AdminService, createAdminService } from "../../admin/admin-service.ts";
import type { Service } from "../../app/service-types.ts";
import { listeningFault, type ReadSettings } from "../../config/load.ts";
import { BadSetting, type Settings } from "../../config/schema.ts";
import { systemClock } from "../../domain/clock.ts";
import { StoreFull } from "../../domain/commit-errors.ts";
import { PROGRAM_COMMAND } from "../../domain/program-command.ts";
import { INTERFACE_VERSION } from "../../domain/types.ts";
import { lowDescriptors } from "../../http/file-descriptors.ts";
import { unnamedProxy } from "../../http/proxies.ts";
import type { Log } from "../../logging/events.ts";
import { createLog } from "../../logging/logger.ts";
import { NO_KEY } from "../../providers/credentials.ts";
import type { Inventory } from "../../routing/inventory.ts";
import { DatabaseUnavailable } from "../../store/errors.ts";
import { createTelemetry, type Telemetry } from "../../telemetry/telemetry.ts";
import { openControl } from "../control.ts";
import { demoAccount, demoKey } from "../demo.ts";
import { CommandError, EXITS, type Exit, messageOf } from "../exit-codes.ts";
import { dirFlags, parseWhole, type Session, settingsWith, withDir, withExamples } from "../session.ts";
import { firstSignal, type StopSignal } from "../signals.ts";
import { createStartingServer, type StartingServer } from "../startup-listener.ts";
import type { Terminal } from "../terminal.ts";
import { revision, VERSION, versionLine } from "../version.ts";

type Flags = { port?: string; host?: string; data?: string; catalogue?: string; simulate?: true };

/** If set, the runtime prints every request of its HTTP client, including provider credentials. */
const PRINTS_CREDENTIALS = "BUN_CONFIG_VERBOSE_FETCH";

/** Settings of the command's flags. @throws CommandError */
const flagsOf = (flags: Flags) => {
  const server = {
    ...(flags.port === undefined ? {} : { port: parseWhole(flags.port, "--port", 0, 65_535) }),
    ...(flags.host === undefined ? {} : { host: flags.host }),
  };
  return { server, ...dirFlags(flags), ...(flags.catalogue === undefined ? {} : { catalogue: { dir: flags.catalogue } }) };
};

const FIRST_REQUEST_MS = 1000;

/** True if the name does not exist. A name server that does not answer yet, as during boot, proves nothing. */
const isNoName = (host: string): Promise<boolean> =>
  lookup(host.replace(/^\[(.*)\]$/, "$1")).then(
    () => false,
    (fault: { code?: string }) => fault.code === "ENOTFOUND",
  );

/** Reason why an address cannot be bound; undefined for any other error. */
const addressFault = async (fault: unknown, { host, port }: Settings["server"]): Promise<CommandError | undefined> => {
  const code = fault instanceof Error && "code" in fault ? fault.code : undefined;
  // A name without an address fails with the code of a used port or an invalid argument, so the name is resolved separately.
  if (typeof code === "string" && (await isNoName(host)))
    return new CommandError(
      EXITS.usage,
      `cannot listen at ${host}: the name does not resolve to an address; set GENROUTER_SERVER__HOST or --host to an address of this machine`,
      { code: "address_unusable" },
    );
  if (code === "EADDRINUSE" && port !== 0)
    return new CommandError(EXITS.failure, `port ${port} is in use; set GENROUTER_SERVER__PORT or --port`, {
      code: "port_in_use",
    });
  if (typeof code !== "string" || !["EADDRINUSE", "EADDRNOTAVAIL", "EACCES", "ENOTCONN", "EINVAL", "EAFNOSUPPORT"].includes(code))
    return undefined;
  return new CommandError(
    EXITS.failure,
    `cannot listen at ${host} port ${port} (${code}); set GENROUTER_SERVER__HOST and GENROUTER_SERVER__PORT, or --host and --port`,
    { code: "address_unusable" },
  );
};

/**
 * Delay before an unavailable database is tried again, ms; it doubles up to the longest. Together with the connection timeout,
 * the longest delay is less than the third of a lease after which other nodes end a node that has not returned.
 */
const [FIRST_PAUSE_MS, MAX_PAUSE_MS] = [500, 2_000];

/** Listens before the service is open, because clients of the previous process may already connect. @throws CommandError */
const openStarting = async (settings: Settings): Promise<StartingServer> => {
  try {
    return createStartingServer(settings);
  } catch (fault) {
    throw (await addressFault(fault, settings.server)) ?? fault;
  }
};

/**
 * Opens the service. If the database is unavailable, the start waits like a running service: /healthz reports that the process is
 * alive, /readyz why it is not ready.
 */
const open = async ({ settings, origins }: ReadSettings, simulate: boolean, telemetry: Telemetry): Promise<Service> => {
  const { createServer } = await import("../../app/server.ts");
  const { log } = telemetry;
  let starting: StartingServer | undefined = await openStarting(settings);
  const stopStarting = async () => {
    const open = starting;
    starting = undefined;
    await open?.stop();
  };
  // The runtime's HTTP client opens its descriptors at the first request and ends the process if none are free. This request
  // opens them before clients connect.
  await fetch(starting.url, { signal: AbortSignal.timeout(FIRST_REQUEST_MS) }).catch(() => undefined);
  let reported: string | undefined;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2))
    try {
      const service = await createServer(settings, { simulate, telemetry, origins, beforeListening: stopStarting });
      if (reported !== undefined) log("database recovered", {});
      return service;
    } catch (fault) {
      if (!(fault instanceof DatabaseUnavailable) || fault.isRejected) {
        await stopStarting();
        const code = fault instanceof Error && "code" in fault ? fault.code : undefined;
        throw (code === "EADDRINUSE" ? await addressFault(fault, settings.server) : undefined) ?? fault;
      }
      // A service that failed after binding its address has stopped the starting server.
      starting ??= await openStarting(settings);
      starting.withoutStore(fault.message);
      if (reported !== fault.message) log("database unavailable", { reason: `the start waits: ${fault.message}` });
      reported = fault.message;
      await Bun.sleep(pauseMs);
    }
};

/** A submission for the shell. The Idempotency-Key is new at every start, so that the response is 202. */
const curlLine = (url: string, key: string): string =>
  [
    `curl -si ${url}/v1/generations`,
    `-H 'Authorization: Bearer ${key}'`,
    `-H 'Idempotency-Key: demo-${randomBytes(4).toString("hex")}'`,
    "-H 'Content-Type: application/json'",
    `-d '{"model":"vidmodel-2.0-fast","input":{"prompt":"a red kite over dunes","resolution":"480p","duration":4}}'`,
  ].join(" ");

/** SIGHUP: reloads settings, catalogue and credentials. If any of them has a fault, nothing changes. One line is logged. */
const reload = async (service: Service, settingsNow: () => ReadSettings, log: Log): Promise<void> => {
  try {
    const { settings, origins } = settingsNow();
    const { models, rekeyed, waiting } = await service.reload(settings, origins);
    const text = [`${models} models`];
    if (rekeyed.length > 0) text.push(`new keys for ${rekeyed.join(", ")}`);
    if (waiting.length > 0) text.push(`active after the next start: ${waiting.join(", ")}`);
    log("config reloaded", { reason: text.join("; ") });
  } catch (fault) {
    const { lines } = await messageOf(fault);
    log("config reload rejected", { reason: `the previous configuration stays active; ${lines.join(" ")}` });
  }
};

/** Ends the service on a signal; resolves to the exit code. */
const runUntilEnd = async (
  session: Session,
  service: Service,
  signal: Promise<StopSignal>,
  closeControl: () => Promise<void>,
): Promise<Exit> => {
  const first = await Promise.race([signal, service.ended]);
  if (typeof first === "number") return first as Exit;
  session.terminal.note(`${first}: draining; open responses finish, new submissions get 503; a second signal stops immediately`);
  await closeControl();
  await service.drain();
  return EXITS.ok;
};

/**
 * Creates a setup link for the operator who starts the service, new at every start. With the simulator, the operator gets the demo
 * account, which the printed key belongs to. On a full disk there is no link until the next start.
 */
const setUpLink = async (admin: AdminService, simulate: boolean): Promise<string | undefined> => {
  try {
    if (simulate) await demoAccount(admin);
    return (await admin.setUpLink({ by: { kind: "service", id: "genrouter", name: "start" } })).path;
  } catch (fault) {
    if (fault instanceof StoreFull || fault instanceof AdminError) return undefined;
    throw fault;
  }
};

/**
 * Prints how the first operator signs in. The link is printed to an interactive terminal only, because many people can read logs.
 */
const firstAdminLines = async (
  terminal: Pick<Terminal, "isLive">,
  admin: AdminService,
  { reached, simulate }: { reached: string; simulate: boolean },
): Promise<string[]> => {
  if (!terminal.isLive) return [`  First admin: ${PROGRAM_COMMAND} users setup prints the link to sign in with`];
  const path = await setUpLink(admin, simulate);
  return path === undefined ? [] : [`  First admin: open ${reached}${path}  (valid 30 min)`];
};

/** Counts the routes that can run, and those that lose money at the providers' list prices. */
const routesLine = async (inventory: Pick<Inventory, "routes">): Promise<string> => {
  const up = (await inventory.routes()).filter(({ state }) => state === "up" || state === "down");
  const losing = up.filter(({ margin }) => margin !== null && margin.leastPercent < 0).length;
  const models = new Set(up.map(({ model }) => model)).size;
  if (up.length === 0) return `none can run: ${NO_KEY}`;
  const warning = losing === 0 ? "" : `; ${losing} can cost more than their price: genrouter routes list`;
  return `${up.length} routes of ${models} models have a key${warning}`;
};

export const addServe = (program: Command, session: Session): void => {
  const { terminal } = session;
  const serve = program
    .command("serve")
    .description("run the service")
    .option("--port <port>", "port to listen on, 0 takes a free one (GENROUTER_SERVER__PORT, else 8080)")
    .option("--host <address>", "address to listen on (GENROUTER_SERVER__HOST, else 127.0.0.1)")
    .option("--catalogue <dir>", "directory with models/ to use instead of the built-in catalogue (GENROUTER_CATALOGUE__DIR)")
    .option("--simulate", "use the built-in provider simulator: no provider is called and nothing is billed")
    .action(async (flags: Flags) => {
      const read = settingsWith(session, flagsOf(flags));
      const { settings } = read;
      const unsafe = listeningFault(read);
      if (unsafe !== undefined) throw new BadSetting(unsafe);
      const simulate = flags.simulate === true;
      // With the simulator, the entry point restarts the process without this variable.
      if (!simulate && session.env[PRINTS_CREDENTIALS])
        throw new CommandError(
          EXITS.unwritable,
          `${PRINTS_CREDENTIALS} is set: it would log the providers' credentials with every request; unset it and start again`,
          { code: "credentials_printed" },
        );
      const written = createLog(settings.log, { isTty: terminal.isLive, colour: terminal.colour });
      const build = { version: VERSION, revision: revision(), bunVersion: Bun.version, interfaceVersion: INTERFACE_VERSION };
      const telemetry = createTelemetry(written, session.env, build);
      const { log } = telemetry;
      const service = await open(read, simulate, telemetry);
      // A second signal ends the process at once, like a crash; recovery continues from the stored state.
      const signal = firstSignal((exit) => process.exit(exit));
      const admin = createAdminService({
        reads: service.reads,
        post: service.post,
        mode: service.mode,
        clock: systemClock(await service.reads.lastSeenMs()),
        ...{
          submit: service.submit,
          decide: service.decide,
          linkMade: service.linkMade,
          inventory: service.inventory,
          vault: service.vault,
          rekeyed: service.rekeyed,
        },
        providers: () => Promise.resolve(service.providers),
      });
      const about = { url: service.url, mode: service.mode, version: VERSION, pid: process.pid };
      const closeControl = openControl(
        settings.data.dir,
        admin,
        about,
        log,
        service.figures,
        service.issueToken,
        service.settings,
      );
      const reached = settings.server.public_url.replace(/\/$/, "") || service.url;
      terminal.note(versionLine());
      terminal.note(`  data      ${resolve(settings.data.dir)}`);
      terminal.note(`  catalogue ${settings.catalogue.dir || "built-in"}`);
      if (!simulate) terminal.note(`  routes    ${await routesLine(service.inventory)}`);
      terminal.note(`  API       ${service.url}/v1`);
      terminal.note(`  models    ${service.url}/v1/models`);
      terminal.note(`  docs      ${service.url}/docs`);
      terminal.note(`  OpenAPI   ${service.url}/openapi.json`);
      terminal.note(`  health    ${service.url}/readyz`);
      if (service.simulatorUrl !== null) terminal.note(`  simulator ${service.simulatorUrl}`);
      if (settings.console.enabled) terminal.note(`  console   ${reached}/console`);
      if (settings.inspector.enabled === "on" || (settings.inspector.enabled === "auto" && simulate))
        terminal.note(`  inspector ${reached}/inspector`);
      if (settings.console.enabled && (await service.reads.operators()) === 0)
        for (const line of await firstAdminLines(terminal, admin, { reached, simulate })) terminal.note(line);
      if (simulate) terminal.note("  SIMULATOR MODE: no provider is called and nothing is billed");
      for (const fault of service.readiness().faults) terminal.warn(`  not ready: ${fault}`);
      const unnamed = settings.console.enabled ? unnamedProxy(settings.server) : null;
      if (unnamed !== null) log("trusted proxy missing", { reason: unnamed });
      const low = lowDescriptors(settings.limits.max_running);
      if (low !== undefined) log("file descriptor limit low", { reason: `${low}; raise ulimit -n (LimitNOFILE)` });
      // On a full disk the demo account waits for space; a stop of the service does not wait.
      const isReported = Promise.race([signal, service.ended]).then(() => undefined);
      const key = simulate ? await Promise.race([demoKey(settings.data.dir, admin, service.reads), isReported]) : undefined;
      terminal.print(`url ${service.url}`);
      if (key !== undefined) {
        terminal.print(`key ${key}`);
        terminal.print(curlLine(service.url, key));
      }
      process.on("SIGHUP", () => void reload(service, () => settingsWith(session, flagsOf(flags)), log));
      session.exit = await runUntilEnd(session, service, signal, closeControl);
    });
  withExamples(
    withDir(serve),
    "serve --simulate",
    "serve --simulate --port 9000 --data /tmp/try",
    "serve --config /etc/genrouter/genrouter.toml",
    "serve --host 0.0.0.0 --data /var/lib/genrouter   # with FAL_KEY, GENROUTER_SERVER__PUBLIC_URL and GENROUTER_OPERATOR__TOKEN in the environment",
  );
};
