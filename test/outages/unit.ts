// The restart rules of the shipped systemd unit: after which exits, after which delay and how often.
import type { Ended } from "../../src/torture/crash/processes.ts";

export type Restarts = {
  /** Whether systemd restarts the service after an unrequested exit. */
  follow(end: Ended): boolean;
  /** The delay between an exit and the next start. */
  pauseMs: number;
  /** The maximum number of starts within a time, or null for no limit. */
  limit: { starts: number; withinMs: number } | null;
};

const UNITS: Readonly<Record<string, number>> = { ms: 1, "": 1000, s: 1000, sec: 1000, min: 60_000, m: 60_000, h: 3_600_000 };
/** The defaults of systemd. */
const DEFAULTS = { Restart: "no", RestartSec: "100ms", StartLimitIntervalSec: "10s", StartLimitBurst: "5" } as const;
const KNOWN: ReadonlySet<string> = new Set([...Object.keys(DEFAULTS), "RestartPreventExitStatus"]);
/** Signals that systemd treats as a clean exit. */
const CLEAN = new Set(["SIGHUP", "SIGINT", "SIGTERM", "SIGPIPE"]);
const NAMES: Readonly<Record<string, string>> = { SIGHUP: "1", SIGINT: "2", SIGTERM: "15", SIGPIPE: "13" };

const msOf = (said: string): number => {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?) ?([a-z]*)$/.exec(said) ?? [];
  const scale = UNITS[unit];
  if (number === "" || scale === undefined) throw new Error(`unsupported time span: ${said}`);
  return Number(number) * scale;
};
const codesOf = (said = ""): ReadonlySet<string> => new Set(said.split(/\s+/).filter((code) => code !== ""));

/** @throws Error for an unsupported restart rule, because a trial would then differ from the shipped supervisor. */
export const restartsOf = (unit: string): Restarts => {
  const said = new Map([...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value.trim()]));
  for (const name of said.keys())
    if (/^(Restart|StartLimit)/.test(name) && !KNOWN.has(name)) throw new Error(`unsupported rule: ${name}`);
  const of = (name: keyof typeof DEFAULTS): string => said.get(name) ?? DEFAULTS[name];
  const when = of("Restart");
  if (!["no", "always", "on-failure"].includes(when)) throw new Error(`unsupported rule: Restart=${when}`);
  const prevented = codesOf(said.get("RestartPreventExitStatus"));
  const good = codesOf(said.get("SuccessExitStatus"));
  const isGood = ({ code, signal }: Ended): boolean =>
    signal === null
      ? code === 0 || good.has(String(code))
      : CLEAN.has(signal) || good.has(signal) || good.has(String(128 + Number(NAMES[signal] ?? 0)));
  const withinMs = msOf(of("StartLimitIntervalSec"));
  return {
    follow: (end) =>
      when !== "no" &&
      !prevented.has(String(end.code)) &&
      !prevented.has(end.signal ?? "") &&
      (when === "always" || !isGood(end)),
    pauseMs: msOf(of("RestartSec")),
    limit: withinMs === 0 ? null : { starts: Number(of("StartLimitBurst")), withinMs },
  };
};
