// Describes audit log entries as sentences with names, and lists the details that a sentence leaves out.
import type { AuditName, AuditView } from "../../../src/console/users-dto.ts";
import { timeText, usd } from "../../components/format.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { number, span } from "../operator/format.ts";

type Line = AuditView["lines"][number];
type Detail = Line["detail"];
type Names = AuditView["names"];

/** A part of a sentence: text, or a name with the page that shows the thing. */
export type Part = { text: string; href?: string; isName?: boolean };
export type Described = { sentence: Part[]; details: { name: string; text: string }[] };

const numberOf = (value: Detail[string] | undefined): number => (typeof value === "number" ? value : 0);
const textOf = (value: Detail[string] | undefined): string => (typeof value === "string" ? value : "");

const HREFS: Readonly<Record<AuditName["kind"], (id: string, accountId: string | null) => string>> = {
  account: (id) => `/console/operator/accounts/${id}`,
  user: () => "/console/operator/users",
  key: (_, accountId) => `/console/keys?account=${accountId ?? ""}`,
  purchase: (_, accountId) => `/console/credits?account=${accountId ?? ""}`,
};

/** A thing by its id: its name with a link; a generation and a route are their own names. */
const thing = (id: string, names: Names): Part => {
  const known = names[id];
  if (known)
    return { text: known.name || operatorWords.operator.unnamed, href: HREFS[known.kind](id, known.accountId), isName: true };
  if (id.startsWith("gen_")) return { text: id, href: `/console/generations/${id}`, isName: true };
  return { text: id, isName: true };
};

const whoOf = ({ actor }: Pick<Line, "actor">, names: Names): Part => {
  const { audit } = operatorWords;
  if (actor.kind === "user") return { text: names[actor.id]?.name || actor.name, isName: true };
  return { text: actor.kind === "command" ? audit.cli(actor.name) : (audit.by[actor.name] ?? actor.name), isName: true };
};

/** An account of the entry: named in the details, or that of its target. */
const accountOf = ({ target, detail }: Pick<Line, "target" | "detail">, names: Names): Part => {
  const id = textOf(detail.accountId) || (target && names[target]?.accountId) || "";
  return id === "" ? { text: "–" } : thing(id, names);
};

/** The sentence of an entry whose action has several, and the members of the details that the sentence contains. */
type Variant = readonly [sentence: string, ...members: string[]];
const VARIANTS: Readonly<Record<string, (detail: Detail, target: string | null) => Variant>> = {
  credit: (detail) => {
    const moved = numberOf(detail.transferredCredits);
    if (moved === 0) return ["movedNothing", "note"];
    return [moved > 0 ? "granted" : "tookBack", "note", "transferredCredits", "kind"];
  },
  "set-low-balance": ({ credits }) => {
    if (credits === null) return ["lowBalanceDefault", "credits"];
    return credits === 0 ? ["lowBalanceNever", "credits"] : ["lowBalance", "credits"];
  },
  "set-spend-alert": ({ credits }) => [credits === null ? "spendAlertNever" : "spendAlert", "credits"],
  "set-account": (detail) => {
    if (Object.keys(detail).length !== 1 || typeof detail.paused !== "boolean") return ["set-account"];
    return [detail.paused ? "paused" : "resumed", "paused"];
  },
  "switch-route": ({ reason }) => (reason === null ? ["routeOn", "reason"] : ["routeOff", "reason"]),
  "decide-generation": ({ decision }) => [textOf(decision), "decision", "reason"],
  "settle-restored": () => ["settle-restored", "reason"],
  "decide-reversal": () => ["decide-reversal", "credits", "reason"],
  invite: ({ kind }) => (kind === "setup" ? ["setup", "kind", "role"] : [textOf(kind), "kind", "role", "email", "userId"]),
  "set-user": (detail) => {
    if (typeof detail.role === "string") return ["role", "role"];
    if (typeof detail.disabled === "boolean") return [detail.disabled ? "disabled" : "enabled", "disabled"];
    return detail.password === undefined ? ["set-user"] : ["password", "password"];
  },
  "note-look": (_, target) => [target === null ? "lookAll" : "look", "what"],
  "note-inspector-token": () => ["note-inspector-token", "role"],
  "note-refused-sign-ins": () => ["note-refused-sign-ins", "wrong", "throttled", "networks"],
  "note-key-network": () => ["note-key-network", "network"],
  "create-key": () => ["create-key", "name"],
  "open-purchase": () => ["open-purchase", "accountId", "credits"],
  "pay-purchase": () => ["pay-purchase", "accountId", "credits", "transferredCredits"],
  "mismatch-purchase": () => ["mismatch-purchase", "accountId", "credits", "currency"],
  "note-refund": () => ["note-refund", "accountId", "credits", "state"],
  "note-dispute": () => ["note-dispute", "accountId", "credits", "state"],
  "create-account": () => ["create-account", "name"],
  "create-webhook-endpoint": () => ["create-webhook-endpoint", "url"],
  "set-webhook-endpoint": ({ url }) => (url === undefined ? ["set-webhook-endpoint"] : ["set-webhook-endpoint", "url"]),
};

/** The amount of an entry: what was transferred, or else what was asked for. */
const amountOf = ({ action, detail }: Line): string => {
  if (action === "credit") return usd(Math.abs(numberOf(detail.transferredCredits)));
  const { credits, amount, currency } = detail;
  const value = numberOf(credits) || numberOf(amount);
  const isForeign = typeof currency === "string" && currency.toLowerCase() !== "usd";
  return isForeign ? `${number(value / 100, 2)} ${currency.toUpperCase()}` : usd(value);
};

/** What each name in braces stands for. */
const slotsOf = (line: Line, names: Names): Readonly<Record<string, () => Part>> => {
  const { audit } = operatorWords;
  const { action, target, detail } = line;
  const text = (value: string): Part => ({ text: value });
  const note = textOf(detail.note) || textOf(detail.reason);
  return {
    who: () => whoOf(line, names),
    target: () => (typeof detail.url === "string" ? { text: detail.url, isName: true } : thing(target ?? "–", names)),
    account: () => accountOf(line, names),
    user: () => thing(textOf(detail.userId), names),
    amount: () => text(amountOf(line)),
    note: () => text(note === "" ? "" : audit.note(note)),
    email: () => text(textOf(detail.email)),
    role: () => text(audit.roles[textOf(detail.role)] ?? textOf(detail.role)),
    state: () => text(audit.states[textOf(detail.state)] ?? textOf(detail.state)),
    what: () => text(audit.looks[textOf(detail.what)] ?? textOf(detail.what)),
    network: () => text(textOf(detail.network)),
    wrong: () => text(number(numberOf(detail.wrong))),
    throttled: () => text(number(numberOf(detail.throttled))),
    networks: () => text(number(numberOf(detail.networks))),
    action: () => text(audit.kinds[action as keyof typeof audit.kinds] ?? action),
  };
};

const filled = (template: string, slots: ReturnType<typeof slotsOf>): Part[] =>
  template
    .split(/\{(\w+)\}/)
    .map((piece, at) => (at % 2 === 0 ? { text: piece } : (slots[piece]?.() ?? { text: piece })))
    .filter(({ text }) => text !== "");

const isCredits = (name: string): boolean => /credits$/i.test(name);

/** A value of the details in words: money as money, times as times, lists with commas. */
const valueText = (name: string, value: Detail[string]): string => {
  const { audit, operator } = operatorWords;
  if (value === null) return name === "models" || name === "expiresAtMs" ? audit.empty : audit.default;
  if (typeof value === "boolean") return value ? operator.yes : operator.no;
  if (typeof value === "number") {
    if (isCredits(name)) return usd(value);
    if (name.endsWith("AtMs")) return timeText(value);
    return name.endsWith("Ms") ? span(value) : number(value);
  }
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map((one) => valueText("", one)).join(", ");
  return Object.entries(value)
    .filter(([, limit]) => limit !== null)
    .map(
      ([window, limit]) => `${window}: ${name === "limits" && typeof limit === "number" ? usd(limit) : valueText(window, limit)}`,
    )
    .join(", ");
};

/** A request reference means nothing to a reader. */
const OMITTED: ReadonlySet<string> = new Set(["reference"]);

export const describeAuditEntry = (line: Line, names: Names): Described => {
  const { audit } = operatorWords;
  const { action, target, detail } = line;
  const [key, ...members] = VARIANTS[action]?.(detail, target) ?? [action];
  const template = audit.sentences[key] ?? audit.sentences.other ?? "";
  const hasRequested = action === "credit" && detail.credits === detail.transferredCredits;
  const isInSentence = new Set([...members, ...(hasRequested ? ["credits"] : [])]);
  const named = Object.entries(detail).filter(([name]) => !isInSentence.has(name) && !OMITTED.has(name));
  return {
    sentence: filled(template, slotsOf(line, names)),
    details: [
      ...named.map(([name, value]) => ({ name: audit.members[name] ?? name, text: valueText(name, value) })),
      ...(target === null ? [] : [{ name: audit.id, text: target }]),
    ].filter(({ text }) => text !== ""),
  };
};
