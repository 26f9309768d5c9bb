// What an error answer means: ordered rules over its status, its codes and its words; the first that fits names the failure.
import { type Static, Type } from "@sinclair/typebox";
import { FAILURE_CLASSES, type FailureClass } from "../../terms.ts";
import { detailOf } from "../answer.ts";
import type { ProviderResponse } from "../provider.ts";
import { type Seek, seekOf, textAt } from "./pointers.ts";
import { DialectFault } from "./words.ts";

const closed = { additionalProperties: false } as const;
export const Pointer = Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1 })], {
  description: "a JSON pointer into the answer, or @status, @text, @header/NAME; of several the first that leads anywhere",
});
export const FailureRule = Type.Object(
  {
    http: Type.Optional(Type.Array(Type.Integer({ minimum: 100, maximum: 599 }), { minItems: 1 })),
    at: Type.Optional(Pointer),
    is: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Number(), Type.Boolean()]), { minItems: 1 })),
    matches: Type.Optional(Type.String({ minLength: 1, description: "a regular expression, upper and lower case alike" })),
    while: Type.Optional(
      Type.Union([Type.Literal("submitting"), Type.Literal("asking")], { description: "absent: in every answer" }),
    ),
    class: Type.Union(FAILURE_CLASSES.map((name) => Type.Literal(name))),
    proves_not_accepted: Type.Optional(
      Type.Boolean({
        description:
          "true: no job was made, whatever the status (by matches: but for a 5xx, 408 or 409); false: one may exist, whatever the status; absent: the status decides, and a 5xx, 408 or 409 proves nothing",
      }),
    ),
  },
  closed,
);
export type FailureRule = Static<typeof FailureRule>;

/** What a rule said of an answer. */
export type Verdict = { class: FailureClass; provesNotAccepted: boolean | undefined };
export type Phase = "submitting" | "asking";

type Rule = { fits(r: ProviderResponse, phase: Phase): boolean; verdict(r: ProviderResponse): Verdict };

/** A status that leaves it open whether a job was made. */
const leavesOpen = (status: number): boolean => status >= 500 || status === 408 || status === 409;

const patternOf = (text: string): RegExp => {
  try {
    return new RegExp(text, "iu");
  } catch {
    throw new DialectFault(`"${text}" is no regular expression`);
  }
};

const ruleOf = (rule: FailureRule): Rule => {
  const { http, at, is, matches } = rule;
  if (http === undefined && at === undefined) throw new DialectFault("a rule needs http, at, or both");
  if (at === undefined && (is !== undefined || matches !== undefined)) throw new DialectFault("is and matches need at");
  const seek = at === undefined ? undefined : seekOf(at);
  const wanted = is?.map(String);
  const pattern = matches === undefined ? undefined : patternOf(matches);
  return {
    verdict: ({ status }) => {
      const proves = rule.proves_not_accepted;
      // A code that was looked up is believed under any status; words that look like one, not under these: "load balancer timeout".
      const isGuess = proves === true && pattern !== undefined && leavesOpen(status);
      return { class: rule.class, provesNotAccepted: isGuess ? undefined : proves };
    },
    fits: (r, phase) => {
      if (rule.while !== undefined && rule.while !== phase) return false;
      if (http !== undefined && !http.includes(r.status)) return false;
      if (seek === undefined) return true;
      const found = seek(r).map((value) => (typeof value === "object" ? JSON.stringify(value) : String(value)));
      if (wanted === undefined && pattern === undefined) return found.length > 0;
      return found.some((word) => (wanted?.includes(word) ?? true) && (pattern?.test(word) ?? true));
    },
  };
};

export type Judge = {
  /** What the first rule that fits says; undefined when none does. */
  verdict(r: ProviderResponse, phase: Phase): Verdict | undefined;
  /** The provider's own words, one line for the operator. */
  words(r: ProviderResponse): string;
};

/** Words of an answer that is no JSON: the start of it. */
const LONGEST_TEXT = 300;

/** @throws DialectFault */
export const judgeOf = (rules: readonly FailureRule[], says: readonly string[]): Judge => {
  const each = rules.map(ruleOf);
  const seeks: Seek[] = says.map((pointer) => seekOf(pointer));
  return {
    verdict: (r, phase) => each.find(({ fits }) => fits(r, phase))?.verdict(r),
    words: (r) => {
      const said = seeks.flatMap((seek) => textAt(seek(r)) ?? []);
      if (said.length > 0) return detailOf(said.join(" "));
      return r.json === undefined ? detailOf(r.text.slice(0, LONGEST_TEXT)) : "";
    },
  };
};
