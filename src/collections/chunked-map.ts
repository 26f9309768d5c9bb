// Map in chunks for many long-lived entries, so that garbage collection scans only changed chunks.

/** Entries of a chunk before the next one starts. */
const CHUNK_SIZE = 512;

/** `from`: first key; `to`: highest key so far. */
type Chunk<Value> = { from: number; to: number; items: Map<number, Value> };

/**
 * A map with mostly rising keys. The garbage collector scans a container again after each change. One map of 100,000 entries that
 * changes with every submission costs ten times the submission itself; here only the chunks at both ends change.
 */
export class ChunkedMap<Value> {
  /** Ordered by first key; the first chunk takes all lower keys. */
  private readonly chunks: Chunk<Value>[] = [];
  private count = 0;

  get size(): number {
    return this.count;
  }

  get(key: number): Value | undefined {
    return this.chunkOf(key)?.items.get(key);
  }

  has(key: number): boolean {
    return this.chunkOf(key)?.items.has(key) ?? false;
  }

  set(key: number, value: Value): void {
    const chunk = this.chunkFor(key);
    const before = chunk.items.size;
    chunk.items.set(key, value);
    if (key > chunk.to) chunk.to = key;
    this.count += chunk.items.size - before;
  }

  delete(key: number): boolean {
    const at = this.placeOf(key);
    const chunk = this.chunks[at];
    if (!chunk?.items.delete(key)) return false;
    this.count -= 1;
    if (chunk.items.size === 0) this.chunks.splice(at, 1);
    return true;
  }

  clear(): void {
    this.chunks.length = 0;
    this.count = 0;
  }

  *values(): Generator<Value> {
    for (const { items } of this.chunks) yield* items.values();
  }

  private chunkOf(key: number): Chunk<Value> | undefined {
    return this.chunks[this.placeOf(key)];
  }

  /** The chunk for a key: nearly always the last one, or a new one after it. */
  private chunkFor(key: number): Chunk<Value> {
    const last = this.chunks[this.chunks.length - 1];
    if (last !== undefined && key <= last.to) return this.chunkOf(key) ?? last;
    if (last !== undefined && last.items.size < CHUNK_SIZE) return last;
    const made: Chunk<Value> = { from: key, to: key, items: new Map() };
    this.chunks.push(made);
    return made;
  }

  /** Index of the last chunk that starts at or before the key; the first if none does. */
  private placeOf(key: number): number {
    const { chunks } = this;
    let low = 0;
    let high = chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((chunks[middle]?.from ?? 0) <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
