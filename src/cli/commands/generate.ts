// `genrouter generate`: submits a generation, shows its progress and downloads every file.
import type { Command } from "commander";
import {
  type Client,
  type Generation,
  GenrouterError,
  type Input,
  type Order,
  type SavedFile,
  StillRunning,
} from "../../../client/src/client.ts";
import type { JsonObject } from "../../domain/types.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { inputOf, withFields } from "../input-flags.ts";
import { localPathsIn, submitWithFiles } from "../local-media.ts";
import { checkOutput, namesOf, type OutputFlags, outputPathOf, printFiles, takesStdout, withOutput } from "../output-paths.ts";
import {
  type ClientFlags,
  clientOf,
  interruptible,
  type JsonFlag,
  parseWhole,
  type Session,
  withClient,
  withExamples,
  withJson,
} from "../session.ts";
import { waitForEnd } from "../wait-for-generation.ts";

/** Few tries, so that an interactive user learns within seconds that the service does not answer. */
const SUBMIT_TRIES = 4;

type WaitFlags = ClientFlags & JsonFlag & OutputFlags & { timeout?: string };
type Flags = WaitFlags & { maxCostUsd?: string; maxWaitS?: string; idempotencyKey?: string; wait: boolean };

const size = (bytes: number): string =>
  bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1000).toFixed(0)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;

/** `864×496, 4.0 s, 71 KB`: the measured properties of the result. */
const describe = (generation: Generation, files: readonly SavedFile[]): string => {
  const { width, height, duration_s } = generation.output ?? {};
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return [
    ...(width && height ? [`${width}×${height}`] : []),
    ...(duration_s === undefined ? [] : [`${duration_s.toFixed(1)} s`]),
    size(bytes),
  ].join(", ");
};

/** Validated flags of a wait. */
export type Wait = { output?: string | undefined; timeoutS: number | undefined; json: boolean };

/** Validates the flags of a wait and of its files before any request. @throws CommandError (usage) */
export const waitOf = async (flags: WaitFlags): Promise<Wait> => {
  const timeoutS = flags.timeout === undefined ? undefined : parseWhole(flags.timeout, "--timeout", 1, 604_800);
  await checkOutput(flags);
  return { output: flags.output, timeoutS, json: flags.json === true };
};

/**
 * Waits for a generation, then downloads its files and sets the exit code. Shared with `download`, which resumes an interrupted
 * `generate`.
 */
export const finish = async (
  session: Session,
  client: Client,
  first: Generation,
  wait: Wait,
  signal: AbortSignal,
): Promise<void> => {
  const { terminal } = session;
  /** With `--json`, standard output is one document, whatever the outcome is. */
  const printJson = (generation: Generation, files: readonly SavedFile[]) => {
    if (wait.json) terminal.print(JSON.stringify({ ...generation, files }));
  };
  const end = await waitForEnd(client, first, { terminal, signal, timeoutS: wait.timeoutS }).catch((fault: unknown) => {
    if (fault instanceof StillRunning) printJson(fault.generation, []);
    throw fault;
  });
  const tookS = end.completed_at === null ? 0 : Math.round((Date.parse(end.completed_at) - Date.parse(end.created_at)) / 1000);
  if (end.status === "failed") {
    session.exit = EXITS.generationFailed;
    printJson(end, []);
    const mark = terminal.paint("red", "✘");
    const why = `${end.error?.code}: ${end.error?.message}`;
    // The message of the service usually contains it already.
    const charged = /nothing was charged/i.test(why) ? "" : "  nothing charged";
    terminal.warn(`${mark} failed after ${tookS} s  ${why}${charged}  attempts ${end.attempts}  ${end.id}`);
    return;
  }
  const onBytes = (n: number, bytes: number) => {
    if (terminal.isLive) terminal.progress(`downloading file ${n} of ${end.output?.urls.length ?? 0}  ${size(bytes)}`);
  };
  const files = await client
    .download(end, { to: outputPathOf(wait.output), signal, onBytes, tries: 3 })
    .catch((fault: unknown) => {
      if (!(fault instanceof GenrouterError) || (fault.status >= 400 && fault.status < 500)) throw fault;
      const where = wait.output === undefined ? "" : ` -o ${wait.output}`;
      throw new CommandError(EXITS.failure, fault.message, {
        fix: `the generation is safe; genrouter download ${end.id}${where} resumes it`,
        code: fault.code,
      });
    });
  terminal.progress(null);
  const line = `${terminal.paint("green", "✔")} succeeded in ${tookS} s  charged $${(end.cost_usd ?? 0).toFixed(2)}  attempts ${end.attempts}  → ${namesOf(files)} (${describe(end, files)})`;
  printJson(end, files);
  // With -o -, standard output contains only the file.
  if (wait.json || takesStdout(wait.output)) terminal.note(line);
  else terminal.print(line);
  printFiles(terminal, end, files);
};

/** Prints how to resume after the command was interrupted. The generation itself continues. */
export const explainResume = (session: Session, id: string, { output }: Wait): void => {
  session.terminal.progress(null);
  session.terminal.warn(
    `${id} continues; to show it: genrouter get ${id}\nto wait for it and download: genrouter download ${id}${output === undefined ? "" : ` -o ${output}`}`,
  );
};

/** Validates an idempotency key, which is sent as a header. @throws CommandError (usage) */
const checkIdempotencyKey = (key: string | undefined): void => {
  if (key === undefined || /^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/.test(key)) return;
  throw new CommandError(
    EXITS.usage,
    `--idempotency-key: ${JSON.stringify(key)} is not 1 to 200 printable ASCII characters without a space at either end`,
    { code: "bad_flag" },
  );
};

/** `--no-wait` excludes saving files and a timeout. @throws CommandError (usage) */
const checkNoWait = ({ wait, output, timeout }: Flags): void => {
  const other = output !== undefined ? "-o" : timeout !== undefined ? "--timeout" : undefined;
  if (wait || other === undefined) return;
  throw new CommandError(EXITS.usage, `--no-wait and ${other} exclude each other; omit one of them`, {
    fix: "genrouter download ID -o FILE waits for the result and saves the files",
    code: "bad_flag",
  });
};

const orderOf = (model: string, flags: Flags): Order => {
  const costUsd = flags.maxCostUsd === undefined ? undefined : Number(flags.maxCostUsd);
  if (costUsd !== undefined && !(costUsd > 0 && costUsd <= 100))
    throw new CommandError(EXITS.usage, `--max-cost-usd: ${flags.maxCostUsd} is not an amount above 0 and at most 100`, {
      code: "bad_flag",
    });
  return {
    model,
    // The service validates the input.
    input: inputOf(flags) as Input,
    ...(costUsd === undefined ? {} : { maxCostUsd: costUsd }),
    ...(flags.maxWaitS === undefined ? {} : { maxWaitS: parseWhole(flags.maxWaitS, "--max-wait-s", 1, 86_400) }),
  };
};

export const addGenerate = (program: Command, session: Session): void => {
  const { terminal } = session;
  const command = program.command("generate <model>").description("submit a generation, wait for it and download its files");
  const generate = withOutput(command)
    .option("--max-cost-usd <usd>", "skip routes priced above it")
    .option("--max-wait-s <seconds>", "skip routes expected to take longer")
    .option("--idempotency-key <key>", "makes the command safe to repeat: the same key makes one generation")
    .option("--timeout <seconds>", "stop waiting after this time (exit 8); the generation continues")
    .option("--no-wait", "print the accepted generation and exit")
    .action(async (model: string, flags: Flags) =>
      interruptible(async (signal) => {
        // Usage errors are detected before any request and therefore cost nothing.
        const order = orderOf(model, flags);
        checkIdempotencyKey(flags.idempotencyKey);
        checkNoWait(flags);
        const wait = flags.wait ? await waitOf(flags) : undefined;
        const paths = localPathsIn(order.input as JsonObject);
        const client = await clientOf(session, flags);
        const submit = (input: JsonObject) =>
          client.submit(
            { ...order, input: input as Input },
            { idempotencyKey: flags.idempotencyKey, signal, tries: SUBMIT_TRIES },
          );
        const first = await submitWithFiles(order.input as JsonObject, paths, { client, terminal, signal }, submit);
        if (!wait) return terminal.print(flags.json ? JSON.stringify(first) : first.id);
        terminal.note(`${first.id}  quoted $${first.quoted_usd.toFixed(2)}`);
        try {
          await finish(session, client, first, wait, signal);
        } catch (fault) {
          if (signal.aborted) explainResume(session, first.id, wait);
          throw fault;
        }
      }),
    );
  withExamples(
    withJson(withClient(withFields(generate))),
    'generate vidmodel-2.0-fast --prompt "a red kite over dunes" --resolution 480p --duration 4 -o kite.mp4',
    'generate vidmodel-2.0 --prompt "she turns" --image-url ./first.jpg -o turn.mp4',
    `generate vidmodel-2.5 --input '{"prompt":"a tin robot","duration":8}' --json | jq .status`,
  );
};
