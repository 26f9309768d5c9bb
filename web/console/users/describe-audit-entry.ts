// Describes audit log entries in words, with amounts in USD.
import type { AuditView } from "../../../src/console/users-dto.ts";
import { usd } from "../../components/format.ts";

type Line = AuditView["lines"][number];
type Detail = Line["detail"];

/** Names of actions that cannot be derived by replacing the hyphens. */
const WORDS: Readonly<Record<string, string>> = {
  "open-purchase": "Purchase opened",
  "pay-purchase": "Purchase paid",
  "mismatch-purchase": "Purchase mismatched",
  "note-refund": "Refund",
  "note-dispute": "Dispute",
  "set-low-balance": "Low-balance alert",
  "set-spend-alert": "Spend alert",
  "note-refused-sign-ins": "Sign-ins rejected",
  "note-look": "Viewed",
  "note-key-network": "Key used from a new network",
  "note-inspector-token": "Inspector token",
};

export const describeAuditEntry = (action: string): string =>
  WORDS[action] ?? `${action.charAt(0).toUpperCase()}${action.slice(1).replaceAll("-", " ")}`;

/** The action that a typed text means: its words or its name. */
export const actionOf = (typed: string): string => {
  const text = typed.trim().toLowerCase();
  const known = Object.entries(WORDS).find(([, words]) => words.toLowerCase() === text);
  return known?.[0] ?? text.replaceAll(" ", "-");
};

const amountOf = (detail: Detail, name: string): number => (typeof detail[name] === "number" ? detail[name] : 0);

/** The change of the balance, and the resulting debt. */
const changeText = (detail: Detail): string => {
  const [moved, owed] = [amountOf(detail, "transferredCredits"), amountOf(detail, "owedCredits")];
  const account = `${detail.accountId ?? "its account"}`;
  const what =
    moved === 0
      ? `no transfer on ${account}`
      : moved < 0
        ? `${usd(-moved)} withdrawn from ${account}`
        : `${usd(moved)} added to ${account}`;
  return owed > 0 ? `${what}; debt ${usd(owed)}` : what;
};

const REVERSED: Readonly<Record<string, string>> = {
  asked: "under inquiry",
  taken: "reversed",
  lost: "lost",
  returned: "reversal withdrawn",
};
const reversal = (detail: Detail): string =>
  `${usd(amountOf(detail, "credits"))} ${REVERSED[`${detail.state}`] ?? detail.state} (${detail.id}): ${
    detail.accountId === undefined ? `its payment ${detail.paymentIntent} is unknown` : changeText(detail)
  }`;

const LOOKED_AT: Readonly<Record<string, string>> = {
  generations: "the list of generations, with their prompts",
  generation: "the generation, with its prompt",
  files: "its files",
  uploads: "its uploaded files",
  replay: "its replay",
  "webhook secret": "its webhook secret",
};

const HOW: Readonly<Record<string, (detail: Detail) => string>> = {
  "open-purchase": (detail) =>
    `${usd(amountOf(detail, "credits"))} for ${detail.accountId}, ${detail.provider === "test" ? "in a test checkout" : "through Stripe"}`,
  "pay-purchase": (detail) => `${usd(amountOf(detail, "credits"))} paid (${detail.paymentIntent}): ${changeText(detail)}`,
  "mismatch-purchase": ({ credits, currency, accountId, paymentIntent }) => {
    const paid = typeof credits === "number" ? `${(credits / 100).toFixed(2)} ${`${currency}`.toUpperCase()}` : "nothing";
    return `${paid} paid (${paymentIntent}), which does not match the purchase; nothing added to ${accountId}`;
  },
  "note-refund": reversal,
  "note-dispute": reversal,
  "note-refused-sign-ins": (detail) =>
    `${amountOf(detail, "wrong")} wrong passwords and ${amountOf(detail, "throttled")} throttled attempts, from ${amountOf(detail, "networks")} ${amountOf(detail, "networks") === 1 ? "network" : "networks"}`,
  "note-look": ({ what }) => LOOKED_AT[`${what}`] ?? `${what}`,
  "note-key-network": ({ address, network }) => `${address} (${network})`,
  "note-inspector-token": ({ role }) => `for a program, as ${role}`,
  "set-low-balance": ({ credits }) =>
    credits === null ? "the service's default" : credits === 0 ? "never alerted" : `below ${usd(Number(credits))}`,
  "set-spend-alert": ({ credits }) => (credits === null ? "never alerted" : `from ${usd(Number(credits))} a month`),
};

/** Details of an entry: a sentence for transfers, otherwise the changed members by name. */
export const howOf = ({ action, detail }: Pick<Line, "action" | "detail">): string =>
  HOW[action]?.(detail) ??
  Object.entries(detail)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
