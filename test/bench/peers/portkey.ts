// Starts Portkey's gateway as a stateless router, and its upstream: a process that responds at once.
import { join } from "node:path";
import { freePort } from "../../../src/torture/crash/processes.ts";
import { onLoadCore, onServerCore } from "../machine.ts";
import type { Side } from "../rounds.ts";
import { packageDir } from "./packages.ts";
import { isListening, type Part, startPart } from "./parts.ts";

const UPSTREAM = join(import.meta.dir, "picture-upstream.ts");

/** The upstream's response: the URL of one picture, in OpenAI's format. */
export const startPictureUpstream = async (): Promise<Part> => {
  const port = await freePort();
  const words = onLoadCore([process.execPath, UPSTREAM, String(port)]);
  return startPart("the upstream", { words, port, isUp: () => isListening(port), isOurs: true });
};

export const startPortkey = async (): Promise<Part> => {
  const port = await freePort();
  const program = join(packageDir("@portkey-ai/gateway"), "build/start-server.js");
  const words = onServerCore(["node", program, `--port=${port}`, "--headless"]);
  return startPart("Portkey", { words, env: { NODE_ENV: "production" }, port, isUp: () => isListening(port) });
};

/** One synchronous call for one picture, in OpenAI's format. */
export const pictureCalls = (headers: Readonly<Record<string, string>>, body: string): Side["streams"][number] => {
  const head = [
    "POST /v1/images/generations HTTP/1.1",
    "host: 127.0.0.1",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return { heads: [`${head.join("\r\n")}\r\n`], isKeyed: false, body };
};
