// Generates a client from openapi.json in each language, and runs a program over it.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dir, "../../..");
const DOCUMENT = join(ROOT, "openapi.json");
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "genrouter");
/** The directories where `.ci/extras` installs packages from PyPI and npm. */
const FROM_PYPI = join(CACHE, "python");
const FROM_NPM = join(CACHE, "npm");
/** Where this program installs packages from PyPI that no test needs. */
const GENERATOR = join(CACHE, "openapi-generator");
const JAR = join(GENERATOR, "openapi_generator_cli/openapi-generator.jar");

/** Maximum duration of one command. The first run of a language downloads its packages. */
const LONGEST_MS = 600_000;
/** Maximum duration of a program, so that a test reports its output before its own end. */
const PROGRAM_MS = 60_000;

type Command = { words: string[]; env?: Record<string, string>; mostMs?: number };

/** Runs a command in a directory. @returns its standard output @throws with its whole output if it fails */
const run = async (dir: string, { words, env = {}, mostMs = LONGEST_MS }: Command): Promise<string> => {
  const child = Bun.spawn(words, {
    ...{ cwd: dir, env: { ...process.env, ...env }, stdout: "pipe", stderr: "pipe", timeout: mostMs },
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${words.slice(0, 4).join(" ")} failed\n${out}${err}`.slice(-4000));
  return out;
};

export type Language = {
  name: string;
  generator: string;
  /** Programs that must be installed. */
  programs: readonly string[];
  /** A path that a package must have installed, and the command that installs it. */
  package: { path: string; command: string } | null;
  /** Generates the client in a directory, and compiles it and the program. */
  prepare: (dir: string) => Promise<void>;
  /** The command of the program. */
  program: (dir: string) => Command;
};

const at = (name: string): string => join(import.meta.dir, name);

const TYPESCRIPT: Language = {
  name: "TypeScript",
  generator: "@hey-api/openapi-ts",
  programs: ["node"],
  package: { path: join(FROM_NPM, "node_modules/@hey-api/openapi-ts"), command: "bash .ci/extras" },
  prepare: async (dir) => {
    const words = ["node", join(FROM_NPM, "node_modules/.bin/openapi-ts"), "-i", DOCUMENT, "-o", join(dir, "client")];
    await run(FROM_NPM, { words });
    cpSync(at("typescript.ts"), join(dir, "typescript.ts"));
    const strict = { strict: true, noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true };
    const runtime = { module: "Preserve", target: "ES2023", lib: ["ESNext", "DOM", "DOM.Iterable"] };
    const types = { types: ["node"], typeRoots: [join(ROOT, "node_modules/@types")] };
    const options = { compilerOptions: { ...strict, ...runtime, ...types }, files: ["typescript.ts"] };
    writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(options));
    await run(dir, { words: ["node", join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "."] });
  },
  program: () => ({ words: [process.execPath, "typescript.ts"] }),
};

const PYTHON: Language = {
  name: "Python",
  generator: "openapi-python-client",
  programs: ["python3"],
  package: { path: join(FROM_PYPI, "openapi_python_client"), command: "bash .ci/extras" },
  prepare: async (dir) => {
    const flags = ["generate", "--path", DOCUMENT, "--output-path", join(dir, "client")];
    await run(dir, { words: ["python3", "-m", "openapi_python_client", ...flags], env: { PYTHONPATH: FROM_PYPI } });
  },
  program: (dir) => ({
    words: ["python3", at("python.py")],
    env: { PYTHONPATH: `${join(dir, "client")}:${FROM_PYPI}`, PYTHONDONTWRITEBYTECODE: "1" },
  }),
};

const OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";
const GO: Language = {
  name: "Go",
  generator: "oapi-codegen",
  programs: ["go"],
  package: null,
  prepare: async (dir) => {
    mkdirSync(join(dir, "api"));
    cpSync(at("go.go"), join(dir, "main.go"));
    const kinds = ["-generate", "types,skip-prune,client", "-package", "api"];
    await run(dir, { words: ["go", "run", OAPI_CODEGEN, ...kinds, "-o", "api/api.go", DOCUMENT] });
    await run(dir, { words: ["go", "mod", "init", "genrouter.test"] });
    await run(dir, { words: ["go", "mod", "tidy"] });
    await run(dir, { words: ["go", "build", "-o", "program", "."] });
  },
  program: (dir) => ({ words: [join(dir, "program")] }),
};

/** Without the first, the generated classes send every list that is not set as an empty list, which the service rejects. */
const JAVA_OPTIONS = "containerDefaultToNull=true,hideGenerationTimestamp=true";
const JAVA: Language = {
  name: "Java",
  generator: "openapi-generator",
  programs: ["java", "javac", "mvn"],
  package: { path: JAR, command: `python3 -m pip install --target ${GENERATOR} openapi-generator-cli==7.25.0` },
  prepare: async (dir) => {
    const source = ["-i", DOCUMENT, "-g", "java", "--library", "okhttp-gson", "-o", "."];
    const only = ["--global-property", "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"];
    await run(dir, { words: ["java", "-jar", JAR, "generate", ...source, "--additional-properties", JAVA_OPTIONS, ...only] });
    const goals = ["compile", "dependency:build-classpath", "-Dmdep.outputFile=class-path"];
    await run(dir, { words: ["mvn", "-q", "-Dmaven.test.skip", ...goals] });
    const path = `target/classes:${readFileSync(join(dir, "class-path"), "utf8")}`;
    writeFileSync(join(dir, "class-path"), path);
    await run(dir, { words: ["javac", "-cp", path, "-d", "target/classes", at("Main.java")] });
  },
  program: (dir) => ({ words: ["java", "-cp", readFileSync(join(dir, "class-path"), "utf8"), "Main"] }),
};

export const LANGUAGES: readonly Language[] = [TYPESCRIPT, PYTHON, GO, JAVA];

/** Why a language cannot be run on this machine; null if it can. */
export const missing = ({ programs, package: needed }: Language): string | null => {
  const absent = programs.filter((name) => Bun.which(name) === null);
  if (absent.length > 0) return `${absent.join(", ")} not installed`;
  return needed === null || existsSync(needed.path) ? null : `${needed.command} installs the generator`;
};

/** Runs the program of a language whose client is prepared. @returns the report that it prints */
export const reportOf = async (language: Language, dir: string, env: Record<string, string>): Promise<Report> => {
  const { words, env: own = {} } = language.program(dir);
  return JSON.parse(await run(dir, { words, env: { ...own, ...env }, mostMs: PROGRAM_MS })) as Report;
};

type Shown = {
  id: string;
  status: string;
  quoted_usd: number;
  cost_usd: number;
  files: number;
  duration_s: number | null;
  metadata: Record<string, string>;
  end_user: string;
  sha256: string;
};
/** What the program of each language prints: values as its client returned them. */
export type Report = {
  file: { id: string; kind: string; bytes: number; width: number; sha256: string };
  clip: Shown;
  speech: Shown;
  edit: { id: string; status: string; files: number };
  /** The id of the replay of `clip`. */
  again: string;
  /** Codes of rejected submissions. */
  conflict: string;
  refused: string;
  /** The generations with the label in their metadata, before `cancelled`. */
  listed: string[];
  cancelled: { id: string; status: string; code: string };
  /** Whether the deletions of `edit` and `file` were confirmed. */
  deleted: boolean;
  /** The webhook event of the file `EVENT`. */
  event: { type: string; id: string; cost_usd: number };
};
