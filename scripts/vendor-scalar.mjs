// Downloads Scalar from the npm registry and vendors the single file that is shipped.
//
// The version and hashes are recorded beside it.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const VERSION = process.argv[2] ?? "1.72.1";
const FILE = "dist/browser/standalone.js";
const assets = join(dirname(dirname(fileURLToPath(import.meta.url))), "src", "http", "pages", "assets");
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

const scratch = mkdtempSync(join(tmpdir(), "scalar-"));
try {
  // The installed package has 278 MB including dependencies; the archive alone contains everything that a browser needs.
  const name = execFileSync("npm", ["pack", `@scalar/api-reference@${VERSION}`, "--silent"], { cwd: scratch, encoding: "utf8" });
  execFileSync("tar", ["xzf", name.trim(), `package/${FILE}`], { cwd: scratch });
  const script = readFileSync(join(scratch, "package", FILE));
  // The output contains neither a time nor a name, so the file is reproducible.
  const packed = gzipSync(script, { level: 9 });
  writeFileSync(join(assets, "scalar.js.gz"), packed);
  const origin = { package: "@scalar/api-reference", version: VERSION, licence: "MIT", file: FILE };
  const sums = { sha256: sha256(script), gzip_sha256: sha256(packed) };
  writeFileSync(join(assets, "scalar.json"), `${JSON.stringify({ ...origin, ...sums }, null, 2)}\n`);
  process.stdout.write(`scalar ${VERSION}: ${script.length} bytes, ${packed.length} packed\n`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
