// A process that keeps result files and cuts its own power at the first one that it is told is kept.
import { mkdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openLocalFiles } from "../../src/files/local.ts";

const [dir = "", how = ""] = process.argv.slice(2);
const shardOf = (id: string) => new Bun.CryptoHasher("sha256").update(id).digest("hex").slice(0, 2);

/** Names that lie in one directory. */
const AT_ONCE = 6;
const ids: string[] = [];
for (let n = 0; ids.length < AT_ONCE; n += 1) if (shardOf(`gen_${n}`) === shardOf("gen_0")) ids.push(`gen_${n}`);

// What a process leaves that was killed between making the directories and syncing them.
if (how === "left") mkdirSync(join(dir, "files", shardOf("gen_0"), "gen_0"), { recursive: true });
const files = await openLocalFiles(join(dir, "files"));
const keep = async (id: string) => {
  const incoming = await files.receive(id, 1);
  await incoming.write(new TextEncoder().encode(`the file of ${id}`));
  await incoming.keep();
  writeSync(1, `kept ${join("files", shardOf(id), id, "1")} with the file of ${id}\n`);
  process.kill(process.pid, "SIGKILL");
};
await Promise.all((how === "together" ? ids : ids.slice(0, 1)).map(keep));
