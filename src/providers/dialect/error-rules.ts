// Error rules of a dialect: ordered rules that classify an error response.
//
// Each rule tests the status, the codes or the text; the first match decides the failure class.
import { type Static, Type } from "@sinclair/typebox";
import { FAILURE_CLASSES, type FailureClass } from "../../domain/types.ts";
import { detailOf } from "../parse-response.ts";
import type { ProviderResponse } from "../port.ts";
import { patternOf, startOfWords } from "./patterns.ts";
import { DialectError } from "./placeholders.ts";
import { type Seek, seekOf, textAt } from "./pointers.ts";

const closed = { additionalProperties: false } as const;
export const Pointer = Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1 })], {
  description:
    "a JSON pointer into the response, or @status, @text, @header/NAME; of several pointers the first with a value is used",
});
/** The classes that a response can report. `mismatched` is not one of them, because the delivery check determines it. */
const MESSAGES = FAILURE_CLASSES.filter((name) => name !== "mismatched");

export const FailureRule = Type.Object(
  {
    http: Type.Optional(Type.Array(Type.Integer({ minimum: 100, maximum: 599 }), { minItems: 1 })),
    at: Type.Optional(Pointer),
    is: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Number(), Type.Boolean()]), { minItems: 1 })),
    matches: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          "a case-insensitive regular expression; it may contain one unbounded repetition, and only if it begins with ^",
      }),
    ),
    while: Type.Optional(
      Type.Union([Type.Literal("submitting"), Type.Literal("asking")], {
        description: "the kind of response to which the rule applies; default: every response",
      }),
    ),
    class: Type.Union(MESSAGES.map((name) => Type.Literal(name))),
    of_account: Type.Optional(
      Type.Boolean({
        description:
          "true: the fault concerns the key or the account, and therefore all its routes; allowed only with class config_fault; a 401 implies it",
      }),
    ),
    proves_not_accepted: Type.Optional(
      Type.Boolean({
        description:
          "true: no job was created, with any status; allowed only with is; false: a job may exist, with any status; default: the status decides, and 2xx, 5xx, 408 and 409 prove nothing",
      }),
    ),
  },
  {
    ...closed,
    // For editors; the loader reports this fault with its own message.
    if: { properties: { proves_not_accepted: { const: true } }, required: ["proves_not_accepted"] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ["at", "is"], not: { required: ["matches"] } },
  },
);
export type FailureRule = Static<typeof FailureRule>;

/** The verdict of a rule on a response. */
export type Verdict = { class: FailureClass; provesNotAccepted: boolean | undefined; isOfAccount: boolean };
export type Phase = "submitting" | "asking";

type Rule = { fits(r: ProviderResponse, phase: Phase): boolean; verdict(): Verdict };

const ruleOf = (rule: FailureRule): Rule => {
  const { http, at, is, matches } = rule;
  if (http === undefined && at === undefined) throw new DialectError("a rule requires http, at or both");
  if (at === undefined && (is !== undefined || matches !== undefined)) throw new DialectError("is and matches require at");
  if (rule.of_account !== undefined && rule.class !== "config_fault")
    throw new DialectError("of_account is allowed only with class config_fault; class balance always concerns the account");
  // Text that resembles a code proves nothing: "load balancer timeout" does not concern a balance.
  if (rule.proves_not_accepted === true && (is === undefined || matches !== undefined))
    throw new DialectError(
      matches === undefined
        ? "proves_not_accepted requires is; only a known code proves that no job was created"
        : "proves_not_accepted cannot be combined with matches; only a known code (is) proves that no job was created",
    );
  const seek = at === undefined ? undefined : seekOf(at);
  const wanted = is?.map(String);
  const pattern = matches === undefined ? undefined : patternOf(matches);
  return {
    verdict: () => ({
      class: rule.class,
      provesNotAccepted: rule.proves_not_accepted,
      isOfAccount: rule.of_account === true,
    }),
    fits: (r, phase) => {
      if (rule.while !== undefined && rule.while !== phase) return false;
      if (http !== undefined && !http.includes(r.status)) return false;
      if (seek === undefined) return true;
      const found = startOfWords(seek(r));
      if (wanted === undefined && pattern === undefined) return found.length > 0;
      return found.some((word) => (wanted?.includes(word) ?? true) && (pattern?.test(word) ?? true));
    },
  };
};

export type Judge = {
  /** The verdict of the first rule that matches; undefined if none does. */
  verdict(r: ProviderResponse, phase: Phase): Verdict | undefined;
  /** The provider's error text, as one line for the operator. */
  words(r: ProviderResponse): string;
};

/** For a response that is not JSON, the text is its start up to this length. */
const MAX_TEXT = 300;

/** @throws DialectError */
export const judgeOf = (rules: readonly FailureRule[], says: readonly string[]): Judge => {
  const each = rules.map(ruleOf);
  const seeks: Seek[] = says.map((pointer) => seekOf(pointer));
  return {
    verdict: (r, phase) => each.find(({ fits }) => fits(r, phase))?.verdict(),
    words: (r) => {
      const text = seeks.flatMap((seek) => textAt(seek(r)) ?? []);
      if (text.length > 0) return detailOf(text.join(" "));
      return r.json === undefined ? detailOf(r.text.slice(0, MAX_TEXT)) : "";
    },
  };
};
