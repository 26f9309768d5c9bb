// Starts LiteLLM's proxy with one worker as a stateless router. It is installed from PyPI when its bench first needs it.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../../src/torture/crash/processes.ts";
import { killAtTheEnd, makeScratch } from "../../scratch.ts";
import { NoPeer } from "../bench.ts";
import { onServerCore } from "../machine.ts";
import { PEERS } from "./packages.ts";
import { type Part, startPart } from "./parts.ts";

const VERSION = "1.108.7";
/** The directory of a version, so that a new one does not mix with the former. */
const HERE = join(PEERS, `litellm-${VERSION}`);
const STAMP = join(HERE, ".installed");
export const LITELLM_KEY = "sk-bench";

/** @throws NoPeer without Python, or if the package is unavailable. */
export const installLitellm = async (report: (line: string) => void): Promise<void> => {
  if (existsSync(STAMP)) return;
  if (Bun.which("python3") === null) throw new NoPeer("LiteLLM is a Python program, and python3 is not here");
  mkdirSync(HERE, { recursive: true });
  report("installing LiteLLM from PyPI, once: about 600 MB …");
  const options = ["--quiet", "--disable-pip-version-check", "--root-user-action=ignore", "--target", HERE];
  const pip = Bun.spawn(["python3", "-m", "pip", "install", ...options, `litellm[proxy]==${VERSION}`], {
    ...{ stdin: "ignore", stdout: "ignore", stderr: "pipe" },
  });
  killAtTheEnd(() => pip.kill("SIGKILL"));
  const said = await new Response(pip.stderr).text();
  if ((await pip.exited) !== 0) throw new NoPeer(`LiteLLM cannot be installed: ${said.trim().split("\n").slice(-2).join(" ")}`);
  writeFileSync(STAMP, VERSION);
};

/** One model on an OpenAI provider at `upstream`, as its documentation configures one. JSON is YAML. */
const configOf = (upstream: number): string => {
  const litellm_params = { model: "openai/picture", api_base: `http://127.0.0.1:${upstream}/v1`, api_key: "bench" };
  return JSON.stringify({
    model_list: [{ model_name: "picture", litellm_params }],
    general_settings: { master_key: LITELLM_KEY },
    litellm_settings: { telemetry: false },
  });
};

/** @param upstream the port of a provider of pictures */
export const startLitellm = async (upstream: number): Promise<Part> => {
  const port = await freePort();
  const config = join(makeScratch("bench-litellm-"), "config.yaml");
  writeFileSync(config, configOf(upstream));
  const program = "from litellm.proxy.proxy_cli import run_server; run_server()";
  const flags = ["--config", config, "--host", "127.0.0.1", "--port", String(port), "--num_workers", "1", "--telemetry", "False"];
  return startPart("LiteLLM", {
    words: onServerCore(["python3", "-c", program, ...flags]),
    env: { PYTHONPATH: HERE, LITELLM_LOG: "ERROR", LITELLM_MODE: "PRODUCTION" },
    port,
    isUp: async () => (await fetch(`http://127.0.0.1:${port}/health/liveliness`)).ok,
  });
};
