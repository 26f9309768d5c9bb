// Fault script: selects the requests that fail, by rules and by prompt tags.

import type { JsonObject } from "../domain/types.ts";
import { DIALECT_IDS, isDialectId } from "./dialect-ids.ts";
import { type Fault, type FaultName, type Faults, isFaultName, makeFault, ruleOf, type Stage } from "./faults.ts";

/**
 * One rule of the script. `endpoint` is a prefix, or a regular expression between slashes (`/seedance-2\.[05]/`). The rule
 * applies to at most `times` requests, each with `probability`. Other members are the fault's parameters, e.g. `{ fault: "5xx",
 * status: 500 }`.
 */
export type Rule = {
  fault: FaultName;
  endpoint?: string;
  provider?: string;
  /** Applies only to requests whose prompt contains this text. */
  prompt?: string;
  times?: number;
  probability?: number;
} & JsonObject;
export type ActiveRule = Rule & { id: number; struck: number };

const OWN = new Set(["id", "struck", "fault", "endpoint", "provider", "prompt", "times", "probability"]);
const MAGIC = /\[sim:(?:([a-z0-9_./-]+):)?([a-z0-9-]+)(?:=(\d+(?:\.\d+)?))?\]/gi;

type Request = { provider: string; endpoint: string; prompt: string };

/** Deterministic random numbers (mulberry32): the same seed gives the same numbers from 0 to 1. */
export const chance = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
};

/** Parses a rule from JSON. @returns the rule, or the error message for an invalid one */
export const readRule = (json: unknown): Rule | string => {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return "a rule is an object with a fault";
  const rule = json as JsonObject;
  if (!isFaultName(rule.fault)) return `fault: ${JSON.stringify(rule.fault)} is not a fault; see the list at /`;
  if (rule.endpoint !== undefined && typeof rule.endpoint !== "string") return "endpoint: a prefix, or /a regular expression/";
  if (rule.provider !== undefined && (typeof rule.provider !== "string" || !isDialectId(rule.provider)))
    return `provider: one of ${DIALECT_IDS.join(", ")}`;
  if (rule.prompt !== undefined && typeof rule.prompt !== "string") return "prompt: text that the prompt contains";
  if (rule.times !== undefined && (!Number.isInteger(rule.times) || Number(rule.times) < 1))
    return "times: a whole number from 1";
  const p = rule.probability;
  if (p !== undefined && (typeof p !== "number" || p < 0 || p > 1)) return "probability: a number from 0 to 1";
  if ((rule.fault === "elsewhere" || rule.fault === "redirect") && typeof rule.url !== "string")
    return `url: ${rule.fault} needs an address`;
  if (patternOf(rule.endpoint) === null) return "endpoint: not a regular expression";
  return rule as Rule;
};

/** The regular expression between slashes; undefined for a plain prefix, null if it is invalid. */
const patternOf = (endpoint: string | undefined): RegExp | undefined | null => {
  if (endpoint === undefined || !/^\/.+\/$/.test(endpoint)) return undefined;
  try {
    return new RegExp(endpoint.slice(1, -1));
  } catch {
    return null;
  }
};

const fits = (endpoint: string, wanted: string | undefined): boolean => {
  const pattern = patternOf(wanted);
  return pattern ? pattern.test(endpoint) : endpoint.startsWith(wanted ?? "");
};

/** Faults from tags in the prompt: `[sim:fail]`, `[sim:fal:fail]`, `[sim:owner/app:slow=3]`. */
const magicFaults = ({ provider, endpoint, prompt }: Request): Faults => {
  const faults: Faults = {};
  for (const [, target, word = "", number] of prompt.matchAll(MAGIC)) {
    const name = word.toLowerCase();
    if (!isFaultName(name)) continue;
    if (target !== undefined && target !== provider && !(target.includes("/") && endpoint.startsWith(target))) continue;
    const rule = ruleOf(name);
    faults[rule.stage] = makeFault(name, rule.number && number !== undefined ? { [rule.number[0]]: Number(number) } : {});
  }
  return faults;
};

/** The fault script of one simulator; `seed` determines the outcomes of `probability`. */
export const createFaultScript = (seed: number) => {
  const rules: ActiveRule[] = [];
  const roll = chance(seed);
  let ids = 0;

  const strike = (stage: Stage, request: Request): Fault | undefined => {
    for (const rule of rules) {
      if (ruleOf(rule.fault).stage !== stage) continue;
      if (rule.times !== undefined && rule.struck >= rule.times) continue;
      if (rule.provider !== undefined && rule.provider !== request.provider) continue;
      if (!fits(request.endpoint, rule.endpoint) || !request.prompt.includes(rule.prompt ?? "")) continue;
      if (rule.probability !== undefined && roll() >= rule.probability) continue;
      rule.struck += 1;
      return makeFault(rule.fault, Object.fromEntries(Object.entries(rule).filter(([name]) => !OWN.has(name))));
    }
    return undefined;
  };

  return {
    add: (rule: Rule): ActiveRule => {
      ids += 1;
      const active: ActiveRule = { ...rule, id: ids, struck: 0 };
      rules.push(active);
      return active;
    },
    list: (): ActiveRule[] => rules.map((rule) => ({ ...rule })),
    clear: () => rules.splice(0),
    /**
     * The faults of a request at these stages. A tag in the prompt has precedence over rules, and an older rule over a newer one.
     */
    choose: (request: Request, stages: readonly Stage[]): Faults => {
      const magic = magicFaults(request);
      const chosen: Faults = {};
      for (const stage of stages) {
        const fault = magic[stage] ?? strike(stage, request);
        if (fault) chosen[stage] = fault;
      }
      return chosen;
    },
  };
};
export type Script = ReturnType<typeof createFaultScript>;
