// Route trials: one paid generation on a single route, on the service's own account.
//
// The generation has no fallback and is checked and stored like any other.
import { fieldsOf, isRange } from "../../catalogue/capabilities.ts";
import type { Model } from "../../catalogue/schema.ts";
import { hashApiKey } from "../domain/ids.ts";
import type { Credits, Failure, GenerationStatus, JsonObject } from "../domain/types.ts";
import type { Submit } from "../generations/submit.ts";
import type { StoreReads } from "../store/store.ts";
import { AdminError } from "./admin-error.ts";
import type { AdminService } from "./admin-service.ts";
import { newReference } from "./request-reference.ts";

/** State of a trial. `failure`: why the provider did not deliver. `costCredits`: price of the generation, once it ended. */
export type Trial = {
  generationId: string;
  accountId: string;
  status: GenerationStatus;
  reservedCredits: Credits;
  costCredits: Credits | null;
  failure: Failure | null;
};

export type RouteTrials = {
  /** Submits one generation to a route. The same reference selects the same generation. */
  tryRoute(request: { reference: string; id: string; input: JsonObject | null }): Promise<Trial>;
  findTrial(query: { generationId: string }): Promise<Trial>;
};

export type RouteTrialsDeps = {
  admin: Pick<AdminService, "createAccount" | "createKey" | "revokeKey" | "addCredits">;
  reads: StoreReads;
  /** Null if no service runs. */
  submit: Submit | null;
  modelOf: (routeId: string) => Model | undefined;
};

const NAME = "route tests";
/** Maximum price of the generation: the default of `max_cost_usd`. */
const MAX_CREDITS = 10_000;
const PROMPT = "a red kite over dunes";

/** The smallest input of a model, at its minimum length. @throws AdminError if it needs media, which only the operator has */
const leastInput = (model: Model): JsonObject => {
  const input: JsonObject = {};
  const lacking: string[] = [];
  for (const [name, field] of fieldsOf(model)) {
    if (name === "prompt") input.prompt = PROMPT;
    else if (field.required) lacking.push(name);
    else if (name === "duration" && isRange(field) && field.excludes === undefined) input.duration = field.min;
  }
  if (lacking.length === 0) return input;
  throw new AdminError("usage", `${model.id} needs ${lacking.join(", ")}, for which there is no default`, {
    fix: `--input '{"${lacking[0]}":"https://…"}'`,
    code: "input_needed",
  });
};

export const createRouteTrials = ({ admin, reads, submit, modelOf }: RouteTrialsDeps): RouteTrials => {
  const find = async (generationId: string): Promise<Trial> => {
    const record = await reads.findGeneration(generationId);
    if (!record) throw new AdminError("notFound", `there is no generation ${generationId}`, { code: "not_found" });
    const attempts = await reads.attemptsOf(record.seq);
    const { accountId, status, reservedCredits, costCredits, error } = record;
    const own = attempts.findLast(({ failure }) => failure !== null)?.failure ?? null;
    const failure = own ?? (error ? { class: "job_failed" as const, detail: `${error.code}: ${error.message}` } : null);
    return {
      ...{ generationId, accountId, status, reservedCredits, costCredits },
      failure: status === "failed" ? failure : null,
    };
  };
  return {
    findTrial: ({ generationId }) => find(generationId),
    tryRoute: async ({ reference, id, input }) => {
      if (submit === null)
        throw new AdminError("tryAgain", "a route test requires a running service, and no service is running here", {
          fix: "start genrouter serve, then repeat the command",
          code: "not_running",
        });
      const model = modelOf(id);
      if (!model) throw new AdminError("notFound", `there is no route ${id}`, { code: "not_found" });
      const body = { model: model.id, input: input ?? leastInput(model) };
      const { id: accountId, availableCredits } = await admin.createAccount({ reference: NAME, name: NAME, creditCredits: 0 });
      // If the trial is repeated after its submission, its hold already reduces the available balance.
      const seq = (await reads.account(accountId))?.seq;
      const bought = seq === undefined ? undefined : await reads.generationByKey(seq, reference);
      if (bought) return find(bought.record.id);
      const missing = MAX_CREDITS - availableCredits;
      if (missing > 0)
        await admin.addCredits({ reference: `${NAME} ${reference}`, accountId, credits: missing, note: `to try ${id}` });
      // A separate key that is never returned and is revoked after the submission.
      const made = await admin.createKey({ reference: newReference("key"), accountId, scope: "generate", name: NAME });
      try {
        const caller = await reads.callerByKeyHash(hashApiKey(made.key));
        if (!caller) throw new Error("the new key was rejected");
        const { record } = await submit({
          ...{
            caller,
            requestId: reference,
            model: model.id,
            input: body.input,
            body: JSON.stringify(body),
            onlyRoute: id,
          },
          ...{ maxCostCredits: MAX_CREDITS, maxWaitMs: null, idempotencyKey: reference },
        });
        return await find(record.id);
      } finally {
        await admin.revokeKey({ id: made.id });
      }
    },
  };
};
