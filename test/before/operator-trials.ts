// The trials of whoever runs the service: settings, the command line, lost files, sign-in, and what proxies meet.
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

/** Settings that no start takes. */
const refused = (genrouter: Genrouter, env: Record<string, string>) => async (): Promise<Seen> => {
  const { code, output: said } = await run([...genrouter, "config", "check"], env);
  return { isRight: code === 2, seen: `config check ends with ${code}: ${lastLine(said)}` };
};

/** Runs `generate` for a key that has credits, in a directory of its own. */
const generate = async (genrouter: Genrouter, world: World, cwd: string, ...words: string[]) => {
  const { url } = nodeOf(world);
  const command = ["generate", MODEL, "--prompt", `${world.word()}kite`, "--url", url, "--key", world.place.honest.key, ...words];
  const child = Bun.spawn([...genrouter, ...command], { cwd, stdout: "pipe", stderr: "pipe", stdin: "ignore" });
  const [out, err] = await Promise.all([new Response(child.stdout).bytes(), new Response(child.stderr).text()]);
  return { code: await child.exited, out, err };
};

/** What comes back over one connection that rests between two requests. */
const askTwice = (url: string, restMs: number): Promise<number> => {
  const { hostname, port } = new URL(url);
  return new Promise((tell) => {
    let answers = 0;
    const socket = connect(Number(port), hostname, () => socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"));
    const end = () => {
      socket.destroy();
      tell(answers);
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
  return new Promise((tell) => {
    let said = "";
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on("data", (bytes) => {
      said += bytes.toString("latin1");
    });
    socket.on("close", () => tell(said));
    socket.on("error", () => tell(said));
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
    body: JSON.stringify({ email: "nobody@example.com", password: "wrong password" }),
  });
  // The line may come after the response.
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
    ...{ id: "operator A4", says: "config check refuses nodes without a bucket, as serve does" },
    run: refused(genrouter, { GENROUTER_STORE__URL: STORE }),
  },
  {
    ...{ id: "operator A10", says: "no link that makes an operator is in what a start says to a file" },
    run: async (world) => {
      const isThere = /console\/setup#/.test(nodeOf(world).child.output());
      return { isRight: !isThere, seen: isThere ? "the link is there" : "no link" };
    },
  },
  {
    ...{ id: "operator A11", says: "links to every address of the machine are refused" },
    run: refused(genrouter, { GENROUTER_SERVER__HOST: "0.0.0.0", GENROUTER_OPERATOR__TOKEN: "0123456789abcdef0123456789abcdef" }),
  },
  {
    ...{ id: "operator A12", says: "a path before the pages is refused" },
    run: refused(genrouter, { GENROUTER_SERVER__PUBLIC_URL: "https://host.example/gen" }),
  },
  { id: "ux B5", says: "a mistake in an option is told before anything is ordered", run: unpaidMistake(genrouter) },
  { id: "ux B8", says: "a file that the storage has lost is 404, and verify finds it", run: lostFile },
  { id: "ux B10", says: "the service starts without a provider's key", run: withoutKeys(genrouter) },
  {
    ...{ id: "ux B26", says: "long JSON is compressed" },
    run: async (world) => {
      const { headers } = await fetch(`${nodeOf(world).url}/v1/models`, { headers: { "accept-encoding": "gzip" } });
      const coding = headers.get("content-encoding");
      return { isRight: coding === "gzip", seen: `the list of models comes as ${coding ?? "plain text"}` };
    },
  },
  { id: "ux B37", says: "-o - writes to standard output", run: toOutput(genrouter) },
  {
    ...{ id: "media D1", says: "what Kubernetes sets for a Service is no setting" },
    run: async () => {
      const env = { GENROUTER_PORT: "tcp://10.0.0.1:8080", GENROUTER_SERVICE_HOST: "10.0.0.1", GENROUTER_SERVICE_PORT: "8080" };
      const { code, output: said } = await run([...genrouter, "config", "print"], env);
      return { isRight: code === 0, seen: `config print ends with ${code}${code === 0 ? "" : `: ${lastLine(said)}`}` };
    },
  },
  { id: "media D2", says: "what is written through a link goes where it leads", run: throughLink(genrouter) },
  {
    ...{ id: "media D6", says: "a connection that rests for a minute is kept" },
    run: async (world) => {
      const answers = await askTwice(nodeOf(world).url, 61_000);
      return { isRight: answers === 2, seen: `${answers} of 2 requests over it were answered` };
    },
  },
  {
    ...{ id: "media D9", says: "an address of a database with a raw # in its password is told what to write" },
    run: async () => {
      const { output: said } = await run([...genrouter, "verify"], {
        GENROUTER_STORE__URL: "postgres://user:a#b@127.0.0.1:1/genrouter",
      });
      return { isRight: /%23/.test(said), seen: lastLine(said) };
    },
  },
  { id: "security 7", says: "a wrong password is in the log", run: wrongPassword },
  {
    ...{ id: "security 13", says: "a request that names two hosts is refused" },
    run: async (world) => {
      const said = await raw(nodeOf(world).url, "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n");
      return { isRight: said.startsWith("HTTP/1.1 400"), seen: said.split("\r\n")[0] ?? "" };
    },
  },
];

/** What is not shown here, and what shows it. */
export const OPERATOR_NOT_SHOWN: readonly (readonly [id: string, why: string])[] = [
  ["operator A1, A2, A6, A9", "npm run outages plays databases, buckets, disks and providers that are away"],
  [
    "operator A3, A7, A8, A13, A14",
    "test/regressions/operator-a*.test.ts: they take a PostgreSQL, a bucket, or a provider that refuses a key",
  ],
  ["operator A5", "promtool over deploy/prometheus, and a real scrape: npm run outages"],
  ["security 5", "test/regressions/operator-stuck.test.ts: a generation has to be stuck by hand"],
  ["security 6", "npm run guessing: 10,000 tries"],
  ["security 8, 10", "test/postgres/tls.test.ts and test/regressions/security-s8.test.ts, security-s10.test.ts"],
  ["ux B7", "whoever may write everywhere, as root, meets no such directory; test/regressions/ux-b7.test.ts"],
];
