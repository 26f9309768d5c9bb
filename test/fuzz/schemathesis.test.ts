// Schemathesis, an independent reader of openapi.json, finds no server error and no response that the document does not describe.
//
// Its checks of inputs are left out. The document does not describe every rule of an input, such as the options of a model, and tus
// answers a missing version with 412.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { killAll } from "../../src/torture/crash/processes.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openService, type Service } from "../client-sdk/generated/service.ts";

const CHECKS = [
  ...["not_a_server_error", "status_code_conformance", "content_type_conformance"],
  ...["response_headers_conformance", "response_schema_conformance", "unsupported_method"],
];
/** Streams that end with their client. */
const ENDLESS = "/v1/events";
/** Schemathesis has no serializer for the media type of tus. */
const OF_TUS = "^/v1/files/uploads/\\{id\\}$";
const EXAMPLES = 8;
const LONGEST_MS = 300_000;

const installed = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "genrouter/schemathesis/bin/schemathesis");
const program = [Bun.which("schemathesis"), installed].find(
  (path) => path !== null && existsSync(path) && Bun.spawnSync([path, "--version"]).success,
);
if (program == null)
  process.stdout.write(
    "skipped: Schemathesis (python3 -m venv ~/.cache/genrouter/schemathesis, then its bin/pip install schemathesis==4.32.5)\n",
  );

let service: Service;
beforeAll(async () => {
  if (program != null) service = await openService(freshDir());
}, 60_000);
afterAll(async () => {
  if (program != null) await service.stop();
  killAll();
  dropDirs();
}, 60_000);

test.skipIf(program == null)(
  "Schemathesis finds no server error, and no status, type, header or body that openapi.json does not describe",
  async () => {
    const { GENROUTER_URL: url = "", GENROUTER_API_KEY: key = "" } = service.envOf("schemathesis");
    const flags = [
      ...["--checks", CHECKS.join(","), "--continue-on-failure", "--max-examples", String(EXAMPLES), "--seed", "7"],
      ...["--exclude-path", ENDLESS, "--exclude-path-regex", OF_TUS, "--request-timeout", "8", "--no-color"],
    ];
    const words = [program ?? "", "run", `${url}/openapi.json`, "-H", `Authorization: Bearer ${key}`, ...flags];
    const child = Bun.spawn(words, { cwd: freshDir(), stdout: "pipe", stderr: "pipe" });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, err, out.slice(-4000)]).toEqual([0, "", expect.stringContaining("generated")]);
  },
  LONGEST_MS,
);
