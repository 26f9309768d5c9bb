// Writes the built pages under their names in the binary: `bun scripts/web-files.ts DIR`.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildWeb } from "../web/build.ts";

const place = process.argv[2];
if (place === undefined) throw new Error("say which directory: bun scripts/web-files.ts DIR");
mkdirSync(place, { recursive: true });
const { files, pages } = await buildWeb();
const write = (name: string, bytes: Uint8Array | string) => Bun.write(join(place, `web~${name}.web`), bytes);
for (const { name, raw, gzip, br } of files) {
  await write(name, raw);
  if (gzip) await write(`${name}.gz`, gzip);
  if (br) await write(`${name}.br`, br);
}
await write("index.json", JSON.stringify({ pages, files: files.map(({ name, type }) => ({ name, type })) }));
