// Holds a sync of the result directory while other operations run.
// removed-home.test.ts runs it in a separate process, because it replaces node:fs/promises.
import { expect, mock, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const real = { ...(await import("node:fs/promises")) };
const root = mkdtempSync(join(tmpdir(), "held-sync-"));
const dir = join(root, "files");
/** Operations on directories and names, in the order in which the disk performed them. */
const done: string[] = [];
/**
 * Held syncs of the directory of result files. The first is performed and returns when it is released; later ones are performed
 * only after their release.
 */
const held: (() => void)[] = [];
let isHolding = false;

const open = (async (path: string, ...rest: [string?, number?]) => {
  const file = await real.open(path, ...rest);
  if (path !== dir) return file;
  const sync = file.sync.bind(file);
  file.sync = async () => {
    const isFirst = !done.includes("synced");
    const wait = () => (isHolding ? new Promise<void>((go) => held.push(go)) : undefined);
    if (!isFirst) await wait();
    await sync();
    done.push("synced");
    if (isFirst) await wait();
  };
  return file;
}) as typeof real.open;
const mkdir = (async (path: string, how: { recursive: true }) => {
  const made = await real.mkdir(path, how);
  if (made !== undefined) done.push("made");
  return made;
}) as typeof real.mkdir;
const rmdir = async (path: string) => {
  await real.rmdir(path);
  done.push("removed");
};
await mock.module("node:fs/promises", () => ({ ...real, open, mkdir, rmdir }));
const { createLocalStorage } = await import("../../src/files/local.ts");

/** Ids of the same minutes share a directory. */
const id = (of: string) => `gen_abcde${of.repeat(16)}`;
/** Waits long enough for a forbidden operation to happen. */
const turns = () => Bun.sleep(20);

test("keeps a file only after the name of its directory is durable, even if another generation of the same minutes fails meanwhile", async () => {
  const files = await createLocalStorage(dir);
  isHolding = true;
  const incoming = async (of: string) => {
    const file = await files.receive(id(of), 1);
    await file.write(Uint8Array.of(1));
    return file;
  };
  const [two, three] = [await incoming("2"), await incoming("3")];
  const orders: string[][] = [];
  const keep = async (file: typeof two) => {
    await file.keep();
    orders.push([...done]);
  };
  done.length = 0;
  const kept = [keep(two)];
  await turns();
  await files.remove(id("1"));
  kept.push(keep(three));
  for (let turn = 0; turn < 10; turn += 1) {
    await turns();
    held.shift()?.();
  }
  await Promise.all(kept);
  // The last directory was synced after it was made.
  for (const order of orders) expect(order.lastIndexOf("synced")).toBeGreaterThan(order.lastIndexOf("made"));
  expect(orders).toHaveLength(2);
  rmSync(root, { recursive: true });
});
