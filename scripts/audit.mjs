// Queries the npm registry for advisories on the packages of the binary.
//
// Exits with 1 for a high or critical advisory. If the audit cannot run (no network, or a registry without audits), it prints the
// reason and exits with 0.
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

/** One line per package: severity, name, and the advisories or the packages that depend on it. */
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
