// `genrouter routes test`: checks a route without cost, or by one paid generation.
import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import type { CheckedRoute } from "../../admin/providers.ts";
import type { Trial } from "../../admin/route-trial.ts";
import { withAdminService } from "../admin-connection.ts";
import { EXITS } from "../exit-codes.ts";
import { parseObject } from "../input-flags.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";
import { showUsd, usdNumber } from "../usd.ts";

type Flags = DirFlag & JsonFlag & { buy?: boolean; input?: string };

const POLL_MS = 500;

const detailOf = ({ check }: CheckedRoute): string | null => {
  if (check.kind === "refused") return `${check.failure.class}: ${check.failure.detail}`;
  return "detail" in check ? check.detail : null;
};

export const addRouteTest = (routes: Command, session: Session): void => {
  const { terminal } = session;
  const canPrompt = () => terminal.isLive && process.stdin.isTTY;
  const [good, bad] = [terminal.paint("green", "✔"), terminal.paint("red", "✘")];

  const printCheck = (checked: CheckedRoute) => {
    const { id, provider, check, costs } = checked;
    const detail = detailOf(checked);
    const again =
      checked.reopened === 0 ? "" : `; ${checked.reopened} of its routes that were down for this reason are tried again`;
    if (check.kind === "works") terminal.print(`${good} ${provider} accepts the key: ${detail}; nothing was billed${again}`);
    else if (check.kind === "refused") terminal.print(`${bad} ${provider} rejects the key: ${detail}`);
    else if (check.kind === "unclear") terminal.print(`? ${provider} returned no result: ${detail}; try again`);
    else {
      terminal.print(`${provider} has no free request to check a credential; a generation costs at least ${costs}.`);
      if (!canPrompt()) terminal.print(`to test with one paid generation: genrouter routes test ${id} --buy`);
    }
  };

  const buy = async (id: string, flags: Flags, checked: CheckedRoute): Promise<void> => {
    const request = {
      reference: randomUUID(),
      id,
      input: flags.input === undefined ? null : parseObject(flags.input, "--input"),
    };
    const settings = settingsOf(session, flags);
    let trial: Trial = await withAdminService(settings, (admin) => admin.tryRoute(request));
    const { generationId } = trial;
    while (trial.status === "queued" || trial.status === "running") {
      terminal.progress(`${generationId}  ${trial.status} on ${id}`);
      await Bun.sleep(POLL_MS);
      trial = await withAdminService(settings, (admin) => admin.findTrial({ generationId }));
    }
    terminal.progress(null);
    const { status, costCredits, failure } = trial;
    session.exit = status === "succeeded" ? EXITS.ok : EXITS.failure;
    const detail = failure === null ? null : `${failure.class}: ${failure.detail}`;
    if (flags.json)
      return terminal.print(
        JSON.stringify({
          ...{ id, provider: checked.provider, result: status === "succeeded" ? "delivered" : "failed", detail },
          ...{ costs_at_least: checked.costs, generation_id: generationId, sold_for_usd: usdNumber(costCredits ?? 0) },
        }),
      );
    if (status === "succeeded") terminal.print(`${good} ${id} delivered ${generationId}, charged ${showUsd(costCredits ?? 0)}`);
    else terminal.print(`${bad} ${id} did not deliver ${generationId}: ${detail}`);
    terminal.note(
      `genrouter trace ${generationId} prints all events; the generation belongs to account ${trial.accountId}, "route tests"`,
    );
  };

  const command = routes
    .command("test <id>")
    .description(
      "test whether the provider of a route accepts your credential, free of charge if possible, otherwise with one paid generation",
    )
    .option(
      "--buy",
      "submit one paid generation on this route with the cheapest input of its model; requires the running service",
    )
    .option("--input <json>", "input to send instead, e.g. with the media that the model requires")
    .action(async (id: string, flags: Flags) => {
      const checked = await withAdminService(settingsOf(session, flags), (admin) => admin.checkRoute({ id }));
      const { provider, check, costs } = checked;
      session.exit = check.kind === "works" ? EXITS.ok : EXITS.failure;
      // If the provider rejects the key, a paid trial would fail too.
      if (flags.buy && check.kind !== "refused") return buy(id, flags, checked);
      if (flags.json)
        return terminal.print(
          JSON.stringify({
            ...{ id, provider, result: check.kind, detail: detailOf(checked), costs_at_least: costs },
            reopened: checked.reopened,
          }),
        );
      printCheck(checked);
      if (check.kind === "none" && canPrompt() && confirm("submit one paid generation?")) await buy(id, flags, checked);
    });
  withExamples(
    withJson(withDir(command)),
    "routes test vidmodel-2.0/fal",
    "routes test stable-image-core/stability --buy",
    `routes test recraft-crisp-upscale/fal --buy --input '{"image_url":"https://example.com/a.png"}'`,
  );
};
