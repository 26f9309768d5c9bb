// OpenAPI paths of end users and their limits.
import type { JsonObject } from "../../domain/types.ts";
import { EXTENSION, jsonAnswer, type No, noes, schemaRef } from "./components.ts";
import { KEYED, keyed, withRequestId } from "./operations.ts";

const END_USER: JsonObject = {
  id: "user-1207",
  object: "end_user",
  limit_usd: 5,
  window: "day",
  spent_usd: 1.2,
  held_usd: 0.28,
  left_usd: 3.8,
  resets_at: "2026-10-20T00:00:00.000Z",
  created_at: "2026-10-19T12:00:00.000Z",
};

const LIMITED_KEY: No = { code: "generation_not_enabled", status: 403, when: "The key has spend limits or a model allowlist." };
const FULL_KEY: No = {
  code: "generation_not_enabled",
  status: 403,
  when: "The key cannot generate, or has spend limits or a model allowlist.",
};
const NO_END_USER: No = { code: "not_found", status: 404, when: "No end user with this id on the account." };
const BAD_QUERY: No = { code: "invalid_request", status: 400, when: "A member of the query is unknown or has an invalid value." };
const BAD_BODY: No = {
  code: "invalid_request",
  status: 400,
  when: "The id or a field of the body is wrong; the message names it and what is allowed.",
};

const shared = (operationId: string, summary: string, description: string): JsonObject => ({
  ...{ operationId, summary, description, tags: ["end_users"] },
  ...keyed,
  ...EXTENSION,
});
const shown = (description: string): JsonObject =>
  jsonAnswer(description, schemaRef("EndUser"), ["Cache-Control"], { end_user: { value: END_USER } });

export const END_USER_PATHS: JsonObject = {
  "/v1/end_users": {
    get: {
      ...shared(
        "listEndUsers",
        "List the end users of the account, newest first",
        "Those that a submission or a limit has named.",
      ),
      parameters: withRequestId("Limit", "After"),
      responses: {
        "200": jsonAnswer("The page.", schemaRef("EndUserList"), ["Cache-Control"]),
        ...noes(...KEYED, LIMITED_KEY, BAD_QUERY),
      },
    },
  },
  "/v1/end_users/{id}": {
    get: {
      ...shared("readEndUser", "Read an end user", "Its limit, and what its generations have spent and hold in the window."),
      parameters: withRequestId("EndUserId"),
      responses: { "200": shown("The end user."), ...noes(...KEYED, LIMITED_KEY, NO_END_USER, BAD_QUERY) },
    },
    put: {
      ...shared(
        "setEndUserLimit",
        "Set the limit of an end user",
        "Submissions with this id in `Genrouter-End-User` are rejected with 402 if their hold exceeds what is left. Holds and charges count on the day of the submission, earlier ones included. The end user need not exist yet.",
      ),
      parameters: withRequestId("EndUserId"),
      requestBody: {
        required: true,
        content: {
          "application/json": {
            schema: schemaRef("EndUserLimit"),
            examples: { limit: { value: { limit_usd: 5, window: "day" } } },
          },
        },
      },
      responses: {
        "200": shown("The end user with its limit."),
        ...noes(...KEYED, FULL_KEY, NO_END_USER, "body_too_large", BAD_BODY),
      },
    },
    delete: {
      ...shared("removeEndUserLimit", "Remove the limit of an end user", "The end user and its spending stay."),
      parameters: withRequestId("EndUserId"),
      responses: { "200": shown("The end user without a limit."), ...noes(...KEYED, FULL_KEY, "invalid_request", NO_END_USER) },
    },
  },
};
