// Trials of operation: configuration, command line, lost files, sign-in and proxies.
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { type Genrouter, run, start } from "../../src/torture/crash/processes.ts";
import { makeScratch } from "../scratch.ts";
import type { Seen, Trial, World } from "./trial.ts";

const MODEL = "flux-2-dev";
const STORE = "postgres://genrouter@127.0.0.1:1/genrouter";
const nodeOf = ({ place }: World) => {
  const [node] = place.nodes;
  if (!node) throw new Error("there is no node");
  return node;
};
const lastLine = (said: string): string => said.trim().split("\n").at(-1)?.slice(0, 200) ?? "";

/** Checks that `config check` rejects these settings. */
const refused = (genrouter: Genrouter, env: Record<string, string>) => async (): Promise<Seen> => {
  const { code, output: said } = await run([...genrouter, "config", "check"], env);
  return { isRight: code === 2, seen: `config check ends with ${code}: ${lastLine(said)}` };
};

/** Runs `generate` with a key that has credits, in the given directory. */
const generate = async (genrouter: Genrouter, world: World, cwd: string, ...words: string[]) => {
  const { url } = nodeOf(world);
  const command = ["generate", MODEL, "--prompt", `${world.word()}kite`, "--url", url, "--key", world.place.honest.key, ...words];
  const child = Bun.spawn([...genrouter, ...command], { cwd, stdout: "pipe", stderr: "pipe", stdin: "ignore" });
  const [out, err] = await Promise.all([new Response(child.stdout).bytes(), new Response(child.stderr).text()]);
  return { code: await child.exited, out, err };
};

/** The number of responses over one connection that is idle between two requests. */
const askTwice = (url: string, restMs: number): Promise<number> => {
  const { hostname, port } = new URL(url);
  return new Promise((report) => {
    let answers = 0;
    const socket = connect(Number(port), hostname, () => socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"));
    const end = () => {
      socket.destroy();
      report(answers);
    };
    socket.on("data", () => {
      answers += 1;
      if (answers === 2) end();
      else setTimeout(() => socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"), restMs);
    });
    socket.on("close", end);
    socket.on("error", end);
  });
};

const raw = (url: string, text: string): Promise<string> => {
  const { hostname, port } = new URL(url);
  return new Promise((report) => {
    let said = "";
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on("data", (bytes) => {
      said += bytes.toString("latin1");
    });
    socket.on("close", () => report(said));
    socket.on("error", () => report(said));
  });
};

const lostFile = async (world: World): Promise<Seen> => {
  const { id } = await world.made({ model: MODEL, input: { prompt: `${world.word()}kite` } });
  const files = join(world.place.dir, "files");
  const path = readdirSync(files, { recursive: true }).find((name) => `${name}`.includes(id));
  if (path === undefined) throw new Error("its file is not on disk");
  rmSync(join(files, `${path}`));
  const headers = { authorization: `Bearer ${world.place.honest.key}` };
  const { status } = await fetch(`${nodeOf(world).url}/v1/generations/${id}/content`, { headers });
  const { code } = await world.place.command("verify");
  return { isRight: status === 404 && code === 1, seen: `its content is answered ${status}, and verify ends with ${code}` };
};

const wrongPassword = async (world: World): Promise<Seen> => {
  const { url, child } = nodeOf(world);
  const answer = await fetch(`${url}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify({ email: "unknown@example.com", password: "wrong password" }),
  });
  // The log line may follow the response.
  const lineOf = () =>
    child
      .output()
      .split("\n")
      .find((one) => one.includes('"sign-in rejected"'));
  for (let waited = 0; waited < 40 && lineOf() === undefined; waited += 1) await Bun.sleep(50);
  const line = lineOf();
  return {
    isRight: line !== undefined,
    seen: `answered ${answer.status}; ${line === undefined ? "no line of the log" : "a line of the log"}`,
  };
};

const unpaidMistake =
  (genrouter: Genrouter) =>
  async (world: World): Promise<Seen> => {
    const { code, out, err } = await generate(genrouter, world, makeScratch("genrouter-before-"), "--timeout", "abc");
    const isOrdered = /gen_/.test(`${Buffer.from(out)}${err}`);
    return {
      isRight: code === 2 && !isOrdered,
      seen: `ends with ${code}, ${isOrdered ? "after it ordered" : "and orders nothing"}`,
    };
  };

const toOutput =
  (genrouter: Genrouter) =>
  async (world: World): Promise<Seen> => {
    const dir = makeScratch("genrouter-before-");
    const { code, out } = await generate(genrouter, world, dir, "-o", "-");
    const left = readdirSync(dir);
    return {
      isRight: code === 0 && out.length > 1000 && left.length === 0,
      seen: `ends with ${code}: ${out.length} bytes on standard output, files ${left.join(", ") || "none"}`,
    };
  };

const throughLink =
  (genrouter: Genrouter) =>
  async (world: World): Promise<Seen> => {
    const dir = makeScratch("genrouter-before-");
    mkdirSync(join(dir, "there"));
    const [link, target] = [join(dir, "link.png"), join(dir, "there", "kite.png")];
    writeFileSync(target, "");
    symlinkSync(target, link);
    const { code } = await generate(genrouter, world, dir, "-o", link, "--overwrite");
    const again = code === 2 ? await generate(genrouter, world, dir, "-o", link) : { code };
    const isLink = lstatSync(link).isSymbolicLink();
    const bytes = existsSync(target) ? readFileSync(target).length : 0;
    return {
      isRight: again.code === 0 && isLink && bytes > 0,
      seen: `ends with ${again.code}: the link is ${isLink ? "a link" : "a file now"}, where it leads are ${bytes} bytes`,
    };
  };

const withoutKeys = (genrouter: Genrouter) => async (): Promise<Seen> => {
  const child = start([...genrouter, "serve", "--port", "0", "--data", makeScratch("genrouter-before-")]);
  const isServing = await child.hears(/^url http/m).then(
    () => true,
    () => false,
  );
  child.kill("SIGKILL");
  const ended = await child.ended;
  return { isRight: isServing, seen: isServing ? "it serves" : `ends with ${ended.code}: ${lastLine(child.output())}` };
};

export const operatorTrials = (genrouter: Genrouter): readonly Trial[] => [
  {
    ...{ id: "cluster-without-bucket", says: "config check rejects a cluster without a bucket, as serve does" },
    run: refused(genrouter, { GENROUTER_STORE__URL: STORE }),
  },
  {
    ...{ id: "setup-link", says: "serve prints no setup link to a file" },
    run: async (world) => {
      const isThere = /console\/setup#/.test(nodeOf(world).child.output());
      return { isRight: !isThere, seen: isThere ? "the link is there" : "no link" };
    },
  },
  {
    ...{ id: "public-host", says: "config check rejects server.host 0.0.0.0 without a public URL" },
    run: refused(genrouter, { GENROUTER_SERVER__HOST: "0.0.0.0", GENROUTER_OPERATOR__TOKEN: "0123456789abcdef0123456789abcdef" }),
  },
  {
    ...{ id: "public-url-path", says: "config check rejects a public URL with a path" },
    run: refused(genrouter, { GENROUTER_SERVER__PUBLIC_URL: "https://host.example/gen" }),
  },
  { id: "option-validation", says: "generate reports an invalid option before it submits", run: unpaidMistake(genrouter) },
  { id: "missing-result-file", says: "returns 404 for a lost result file, and verify reports it", run: lostFile },
  { id: "start-without-key", says: "the service starts without a provider credential", run: withoutKeys(genrouter) },
  {
    ...{ id: "http-compression", says: "compresses long JSON responses" },
    run: async (world) => {
      const { headers } = await fetch(`${nodeOf(world).url}/v1/models`, { headers: { "accept-encoding": "gzip" } });
      const coding = headers.get("content-encoding");
      return { isRight: coding === "gzip", seen: `the list of models comes as ${coding ?? "plain text"}` };
    },
  },
  { id: "output-to-stdout", says: "generate -o - writes to standard output", run: toOutput(genrouter) },
  {
    ...{ id: "kubernetes-variables", says: "config ignores the variables that Kubernetes sets for a Service" },
    run: async () => {
      const env = { GENROUTER_PORT: "tcp://10.0.0.1:8080", GENROUTER_SERVICE_HOST: "10.0.0.1", GENROUTER_SERVICE_PORT: "8080" };
      const { code, output: said } = await run([...genrouter, "config", "print"], env);
      return { isRight: code === 0, seen: `config print ends with ${code}${code === 0 ? "" : `: ${lastLine(said)}`}` };
    },
  },
  { id: "output-through-link", says: "generate -o writes through a symbolic link to its target", run: throughLink(genrouter) },
  {
    ...{ id: "keep-alive", says: "keeps a connection that is idle for a minute" },
    run: async (world) => {
      const answers = await askTwice(nodeOf(world).url, 61_000);
      return { isRight: answers === 2, seen: `${answers} of 2 requests over it were answered` };
    },
  },
  {
    ...{ id: "database-url-password", says: "explains how to encode a # in the password of a database URL" },
    run: async () => {
      const { output: said } = await run([...genrouter, "verify"], {
        GENROUTER_STORE__URL: "postgres://user:a#b@127.0.0.1:1/genrouter",
      });
      return { isRight: /%23/.test(said), seen: lastLine(said) };
    },
  },
  { id: "failed-sign-in", says: "logs a sign-in with a wrong password", run: wrongPassword },
  {
    ...{ id: "two-host-headers", says: "rejects a request with two Host headers with 400" },
    run: async (world) => {
      const said = await raw(nodeOf(world).url, "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n");
      return { isRight: said.startsWith("HTTP/1.1 400"), seen: said.split("\r\n")[0] ?? "" };
    },
  },
];

/** Faults that these trials do not cover, and what covers them. */
export const OPERATOR_NOT_SHOWN: readonly (readonly [id: string, why: string])[] = [
  [
    "outages of a database, a bucket, a disk or a provider",
    "npm run outages tests unavailable databases, buckets, disks and providers",
  ],
  [
    "read commands, log lines, database versions and provider accounts",
    "test/regressions and test/postgres/server-fit.test.ts: they need PostgreSQL, a bucket, or a provider that rejects a credential",
  ],
  ["metrics and alerts", "promtool over deploy/prometheus, and a real scrape: npm run outages"],
  ["parked generations", "test/regressions/parked-generations.test.ts: a test has to make a generation stuck"],
  ["sign-in during a password attack", "npm run guessing: 10,000 sign-ins"],
  [
    "database certificates, requests without a key",
    "test/postgres/tls.test.ts and test/regressions/database-certificate-verification.test.ts, requests-without-key.test.ts",
  ],
  [
    "unwritable output path",
    "root can write to every directory, so there is no such directory; test/regressions/generate-option-validation.test.ts",
  ],
];
