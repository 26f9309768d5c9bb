// Converts the key form to a request; amounts are parsed as digits, not floats.
import type { KeyRequest, KeyView } from "../../src/console/keys-dto.ts";
import { KEY_WINDOWS, type KeyLimits, type KeyScope, type KeyWindow } from "../../src/domain/types.ts";
import { words } from "../words/console-words.ts";

export type Expiry = "never" | "30" | "90" | "365" | "date";
export type KeyForm = {
  name: string;
  scope: KeyScope;
  expiry: Expiry;
  /** `2027-01-31`, if the expiry is a date: the key expires at the end of that day, UTC. */
  date: string;
  limits: Record<KeyWindow, string>;
  /** Null: all models. */
  models: string[] | null;
};
/** Errors by field. */
export type FormFaults = Partial<Record<"name" | "date" | "models" | KeyWindow, string>>;

const DAY_MS = 86_400_000;
const MAX_CREDITS = 1_000_000_000;
const MAX_NAME_CHARS = 200;

export const EMPTY_FORM: KeyForm = {
  ...{ name: "", scope: "generate", expiry: "never", date: "", models: null },
  limits: { day: "", week: "", month: "" },
};

/** `1250` → `12.50` */
const amount = (credits: number): string => `${Math.floor(credits / 100)}.${String(credits % 100).padStart(2, "0")}`;

/** Form values of an existing key. */
export const formOf = ({ name, scope, expiresAtMs, limits, models }: KeyView): KeyForm => ({
  name,
  scope,
  expiry: expiresAtMs === null ? "never" : "date",
  // The last day of validity.
  date: expiresAtMs === null ? "" : new Date(expiresAtMs - 1).toISOString().slice(0, 10),
  limits: {
    day: limits.day ? amount(limits.day.limitCredits) : "",
    week: limits.week ? amount(limits.week.limitCredits) : "",
    month: limits.month ? amount(limits.month.limitCredits) : "",
  },
  models: models === null ? null : [...models],
});

/** Parses an amount in USD to whole credits; null if empty; undefined if invalid. */
export const creditsOf = (text: string): number | null | undefined => {
  if (text.trim() === "") return null;
  const match = /^(\d{1,8})(?:[.,](\d{1,2}))?$/.exec(text.trim());
  const credits = match ? Number(match[1]) * 100 + Number((match[2] ?? "").padEnd(2, "0")) : 0;
  return credits >= 1 && credits <= MAX_CREDITS ? credits : undefined;
};

const endOf = (date: string): number => Date.parse(`${date}T00:00:00Z`) + DAY_MS;

/** @param unchangedMs current expiry of the key, kept if its day was not changed. */
export const requestOf = (
  form: KeyForm,
  nowMs: number,
  unchangedMs: number | null = null,
): { request: KeyRequest; faults?: undefined } | { faults: FormFaults } => {
  const faults: FormFaults = {};
  const limits: { -readonly [window in keyof KeyLimits]: KeyLimits[window] } = { day: null, week: null, month: null };
  for (const window of KEY_WINDOWS) {
    const credits = creditsOf(form.limits[window]);
    if (credits === undefined) faults[window] = words.keys.faults.amount;
    else limits[window] = credits;
  }
  let expiresAtMs: number | null = null;
  if (form.expiry === "date") {
    const isSame = unchangedMs !== null && new Date(unchangedMs - 1).toISOString().slice(0, 10) === form.date;
    expiresAtMs = isSame ? unchangedMs : endOf(form.date);
    if (!(expiresAtMs > nowMs)) faults.date = words.keys.faults.date;
  } else if (form.expiry !== "never") expiresAtMs = nowMs + Number(form.expiry) * DAY_MS;
  if (form.models?.length === 0) faults.models = words.keys.faults.models;
  if (form.name.length > MAX_NAME_CHARS) faults.name = words.keys.faults.name(MAX_NAME_CHARS);
  if (Object.keys(faults).length > 0) return { faults };
  return { request: { name: form.name.trim(), scope: form.scope, expiresAtMs, models: form.models, limits } };
};
