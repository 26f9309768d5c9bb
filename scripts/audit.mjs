// Asks the npm registry for advisories on the packages inside the binary; ends with 1 for a high or critical one.
//
// An audit that does not take place (no network, or a registry without audits) is printed with its reason and ends with 0: it says nothing
// about the code.
import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const TIMEOUT_MS = 60_000;
const FAILING = ["high", "critical"];
const ARGUMENTS = ["audit", "--omit=dev", "--json", "--fetch-retries=0", "--fetch-timeout=20000"];

const { stdout, error } = spawnSync(process.platform === "win32" ? "npm.cmd" : "npm", ARGUMENTS, {
  cwd: root,
  encoding: "utf8",
  timeout: TIMEOUT_MS,
  killSignal: "SIGKILL",
  shell: process.platform === "win32",
  stdio: ["ignore", "pipe", "ignore"],
});

const parse = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
};

/** One line of a package: the severity, its name, and the advisories themselves or the packages that bring them. */
const lineOf = ({ name, severity, via }) => {
  const reasons = via.map((each) => (typeof each === "string" ? each : `${each.title} (${each.url})`));
  return `${severity}: ${name}: ${reasons.join("; ")}`;
};

const report = parse(stdout ?? "");
if (report.vulnerabilities === undefined) {
  process.stdout.write(`skipped: npm audit: ${report.message ?? error?.message ?? "npm printed no report"}\n`);
} else {
  const found = Object.values(report.vulnerabilities);
  const failing = found.filter(({ severity }) => FAILING.includes(severity));
  for (const each of found) process.stdout.write(`${lineOf(each)}\n`);
  process.stdout.write(
    `npm audit: ${found.length} shipped packages with advisories, ${failing.length} of them ${FAILING.join(" or ")}\n`,
  );
  process.exitCode = failing.length > 0 ? 1 : 0;
}
