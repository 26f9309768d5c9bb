// Storage of uploaded files in a simulated world: bytes by blob, which outlive every process.
import { type Files, type Incoming, StorageRefused } from "../../files/port.ts";
import type { Faults } from "./faults.ts";
import type { NodeLife } from "./node-life.ts";
import type { Rng } from "./rng.ts";

/** The durable bytes of blobs and of parts. */
export type StoredBytes = Map<string, Uint8Array>;

export const sha256Of = (bytes: Uint8Array): string => Bun.CryptoHasher.hash("sha256", bytes, "hex");

export type UploadStorage = Pick<Files, "receive" | "remove"> & {
  /** The bytes that a path has received so far. */
  received: (path: string) => Uint8Array | undefined;
};

export const createUploadStorage = (of: {
  life: NodeLife;
  dice: Rng;
  faults: () => Faults;
  stored: StoredBytes;
  isUnavailable: () => boolean;
  /** Bytes are about to be deleted. */
  removing: (id: string) => void;
}): UploadStorage => {
  const { life, dice, faults, stored } = of;
  /** Lost with the process. */
  const incoming = new Map<string, Uint8Array[]>();
  const requireAvailable = async (longestMs: number): Promise<void> => {
    await life.sleep(dice.between(0, longestMs) * dice.roll());
    if (of.isUnavailable() || dice.chance(faults().storageRefuses)) throw new StorageRefused("no space");
  };
  const received = (path: string) => {
    const chunks = incoming.get(path);
    return chunks && new Uint8Array(Buffer.concat(chunks));
  };
  return {
    received,
    receive: async (id, n): Promise<Incoming> => {
      const path = `${id}.${n}`;
      incoming.set(path, []);
      return {
        path,
        write: async (...chunks) => {
          await life.sleep(dice.between(0, 20));
          incoming.get(path)?.push(...chunks.map((chunk) => chunk.slice()));
        },
        hold: (chunks) => void incoming.set(path, [...chunks]),
        keep: async () => {
          await requireAvailable(2_000);
          stored.set(id, received(path) ?? new Uint8Array());
          await life.cross("upload: bytes stored");
        },
        discard: async () => void incoming.delete(path),
      };
    },
    remove: async (id) => {
      await requireAvailable(200);
      of.removing(id);
      stored.delete(id);
      await life.cross("upload: bytes deleted");
    },
  };
};
