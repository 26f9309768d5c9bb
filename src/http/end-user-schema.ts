// TypeBox schemas of end users and their limits.
import { Type } from "@sinclair/typebox";
import { END_USER_WINDOWS, MAX_END_USER_CHARS } from "../domain/end-users.ts";
import { dateTime, dollars, oneOf, orNull } from "./schema.ts";

const window = oneOf(END_USER_WINDOWS, "UTC day, week from Monday, month, or in total, which never resets.");

export const EndUserLimitBody = Type.Object(
  {
    limit_usd: orNull(
      Type.Number({ minimum: 0, maximum: 10_000_000, description: "At most two decimals; null removes the limit." }),
    ),
    window: Type.Optional(window),
  },
  { additionalProperties: false },
);

export const EndUserObject = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: MAX_END_USER_CHARS, description: "As in the header `Genrouter-End-User`." }),
    object: Type.Literal("end_user"),
    limit_usd: orNull(dollars("The limit; null without one.")),
    window: orNull(window),
    spent_usd: dollars("Spent or held by generations submitted in the window; without a limit, by all generations."),
    held_usd: dollars("The part of `spent_usd` that is held for generations in progress."),
    left_usd: orNull(dollars("What may still be spent in the window; null without a limit.")),
    resets_at: orNull(dateTime("End of the window, UTC; null without a limit and for `total`.")),
    created_at: dateTime("UTC; when the account first named the end user."),
  },
  { additionalProperties: false },
);

/** A page of end users, newest first. */
export const EndUserList = Type.Object(
  {
    object: Type.Literal("list"),
    data: Type.Array(EndUserObject),
    has_more: Type.Boolean({ description: "Another page may follow." }),
    next: orNull(Type.String({ description: "The `after` of the next page; null at the end." })),
  },
  { additionalProperties: false },
);
