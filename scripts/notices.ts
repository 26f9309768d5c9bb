// Writes THIRD_PARTY_NOTICES.txt: the licenses of all components of the binary.
//
// The sources are the lock file and the packages.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

const root = join(import.meta.dir, "..");
export const NOTICES = join(root, "THIRD_PARTY_NOTICES.txt");

export type Entry = {
  version: string;
  integrity: string;
  license?: string;
  dev?: true;
  devOptional?: true;
  optional?: true;
  link?: true;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
};
export type Package = { name: string; path: string; version: string; license: string | undefined; integrity: string };

/** Licenses whose terms a notice fulfils. A package with another license must not be part of the binary. */
const ALLOWED = [
  "MIT",
  "MIT-0",
  "ISC",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "Apache-2.0",
  "0BSD",
  "MPL-2.0",
  "Unlicense",
  "BlueOak-1.0.0",
];

/** True for the name of a file that contains a package's terms. */
const isTerms = (name: string): boolean => /^(licen[cs]e|notice|copying|copyright)([-.].*)?$/i.test(name);

/** Accepts `MIT`, or an expression of alternatives of which one is allowed; in a conjunction all must be allowed. */
const isAllowed = (expression: string | undefined): boolean =>
  (expression ?? "none")
    .replace(/[()]/g, "")
    .split(/ OR /i)
    .some((choice) => choice.split(/ AND /i).every((one) => ALLOWED.includes(one.trim())));

/** The packages of the lock file, by path. */
export const locked = (): Record<string, Entry> => JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;

/** All production packages except the runtime. Packages of single platforms and development packages of peers are excluded. */
export const productionPackages = (): Package[] =>
  Object.entries(locked())
    // A path outside of node_modules belongs to this repository.
    .filter(([path, one]) => path.startsWith("node_modules/") && !one.dev && !one.devOptional && !one.optional && !one.link)
    .map(([path, { version, license, integrity }]) => ({
      name: path.split("node_modules/").at(-1) ?? "",
      path,
      version,
      license,
      integrity,
    }))
    .filter(({ name }) => name !== "bun")
    .sort((a, b) => (`${a.name} ${a.path}` < `${b.name} ${b.path}` ? -1 : 1));

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
(the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify,
merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE
FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

const UNLICENSE = `This is free and unencumbered software released into the public domain.

Anyone is free to copy, modify, publish, use, compile, sell, or distribute this software, either in source code form or as a compiled
binary, for any purpose, commercial or non-commercial, and by any means.

In jurisdictions that recognize copyright laws, the author or authors of this software dedicate any and all copyright interest in the
software to the public domain. We make this dedication for the benefit of the public at large and to the detriment of our heirs and
successors. We intend this dedication to be an overt act of relinquishment in perpetuity of all present and future rights to this
software under copyright law.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR
THE USE OR OTHER DEALINGS IN THE SOFTWARE.

For more information, please refer to <https://unlicense.org>`;

/** The terms of a package from its own file, else the standard text of its license. @throws Error if there is neither */
const termsOf = ({ name, path, license }: Package): string => {
  const place = join(root, path);
  const files = readdirSync(place).filter(isTerms).sort();
  if (files.length > 0) return files.map((file) => readFileSync(join(place, file), "utf8").trim()).join("\n\n");
  if (license === "Unlicense") return UNLICENSE;
  if (license !== "MIT") throw new Error(`${name} has the licence ${license} and no file with its terms`);
  const { author } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
  return `Copyright (c) ${typeof author === "string" ? author : (author?.name ?? `the authors of ${name}`)}\n\n${MIT}`;
};

/** Vendored code has its terms beside it: a file LICENSE, or NAME.LICENSE. */
const vendored = (): string[] =>
  ["src", "catalogue", "actors", "web"]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && /(^|\.)LICEN[CS]E(\.\w+)?$/.test(entry.name))
        .map((entry) => join(entry.parentPath, entry.name)),
    )
    .sort();

const headOf = (
  own: string,
): string => `genrouter is one file that holds other people's work. This is what is inside, and on which terms.

${own.trim()}`;

/** From the runtime's own LICENSE.md; its packages on the registry do not contain this file. */
const runtimeOf = (version: string): string => `bun ${version} (MIT)
https://bun.com, https://github.com/oven-sh/bun (LICENSE.md there lists what is below, with where each is found)

Copyright (c) Oven and the contributors of Bun

${MIT}

Bun links statically:
  JavaScriptCore and parts of WebKit: LGPL-2.0; their source, with Bun's changes, is at https://github.com/oven-sh/webkit. To run genrouter
  on a JavaScriptCore of your own, build Bun with it and run: bun src/main.ts, or build the binary with scripts/build.mjs.
  tinycc: LGPL-2.1
  boringssl, libarchive, libicu: several permissive licences
  brotli, ls-hpack, ls-qpack, lsquic, mimalloc, c-ares, libuv (on Windows), libdeflate, uucode: MIT (lsquic with parts of Chromium: BSD-3-Clause)
  picohttpparser: MIT or Perl; zstd: BSD or GPL-2.0
  lol-html, libwebp: BSD-3-Clause; libbase64, libspng: BSD-2-Clause; libjpeg-turbo: BSD-3-Clause, IJG and zlib; zlib-ng: zlib
  simdutf, uSockets, uWebSockets, highway, parts of TigerBeetle: Apache-2.0; parts of libc++abi: Apache-2.0 with LLVM exception
  SQLite: public domain
Bun embeds, for programs that import them, these packages, all MIT: acorn, acorn-walk, assert, browserify-zlib, buffer,
constants-browserify, crypto-browserify, domain-browser, events, https-browserify, os-browserify, path-browserify, process, punycode,
querystring-es3, stream-browserify, stream-http, string_decoder, timers-browserify, tty-browserify, url, util, vm-browserify.`;

/**
 * Text of the notices.
 * @throws Error naming every package whose license is not allowed.
 */
export const printNotices = (packages = productionPackages()): string => {
  const refused = packages.filter(({ license }) => !isAllowed(license));
  if (refused.length > 0)
    throw new Error(
      `not allowed in the binary: ${refused.map(({ name, license }) => `${name} (${license ?? "no licence"})`).join(", ")}; allowed are ${ALLOWED.join(", ")}`,
    );
  const parts = [
    headOf(readFileSync(join(root, "LICENSE"), "utf8")),
    runtimeOf(locked()["node_modules/bun"]?.version ?? ""),
    ...packages.map(
      (one) => `${one.name} ${one.version} (${one.license})\nhttps://www.npmjs.com/package/${one.name}\n\n${termsOf(one)}`,
    ),
    ...vendored().map((path) => `${relative(root, path)}\n\n${readFileSync(path, "utf8").trim()}`),
  ];
  return `${parts
    .join(`\n\n${"-".repeat(80)}\n\n`)
    .replaceAll("\r\n", "\n")
    .replace(/[ \t]+$/gm, "")}\n`;
};

if (import.meta.main) writeFileSync(NOTICES, printNotices());
