// The Containerfile: valid instructions, an unprivileged user, one volume, a health check and OCI labels.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { validate } from "dockerfile-utils";

const text = readFileSync(join(import.meta.dir, "../../deploy/Containerfile"), "utf8");

test("the Containerfile passes the validator", () => {
  expect(
    validate(text, { instructionWorkdirRelative: 2, deprecatedMaintainer: 2 }).map(
      ({ message, range }) => `${range.start.line + 1}: ${message}`,
    ),
  ).toEqual([]);
});

test("the validator rejects an unknown instruction", () => {
  expect(validate(text.replace("VOLUME", "VOLUMES")).length).toBe(1);
});

test("the Containerfile sets an unprivileged user, one volume and a health check, and does not listen on all addresses", () => {
  const last = (word: string) => [...text.matchAll(new RegExp(`^${word} (.*)$`, "gm"))].at(-1)?.[1];
  expect(last("USER")).toBe("10001:10001");
  expect(last("VOLUME")).toBe("/data");
  expect(last("ENV")).toBe("GENROUTER_DATA__DIR=/data");
  expect(last("HEALTHCHECK")).toEndWith('CMD ["genrouter", "healthcheck"]');
  expect(last("CMD")).toBe('["serve"]');
  expect(text).not.toContain("0.0.0.0");
});

test("the Containerfile takes its base image as an argument, and has OCI labels and the version of the package", () => {
  expect(text).toMatch(/^ARG BASE\nFROM \$\{BASE\}$/m);
  for (const label of ["title", "description", "licenses", "version", "revision"])
    expect(text).toContain(`org.opencontainers.image.${label}=`);
  const { version } = JSON.parse(readFileSync(join(import.meta.dir, "../../package.json"), "utf8")) as { version: string };
  expect(text).toContain(`ARG VERSION=${version}\n`);
});
