// Map in chunks for many long-lived entries, so that garbage collection scans only changed chunks.

/** Entries of a chunk before the next one starts. */
const SHELF = 512;

/** `from`: first key; `to`: highest key so far. */
type Shelf<Value> = { from: number; to: number; items: Map<number, Value> };

/**
 * A map with mostly rising keys. The garbage collector scans a container again after each change. One map of 100,000 entries that
 * changes with every submission costs ten times the submission itself; here only the chunks at both ends change.
 */
export class ChunkedMap<Value> {
  /** Ordered by first key; the first chunk takes all lower keys. */
  private readonly shelves: Shelf<Value>[] = [];
  private count = 0;

  get size(): number {
    return this.count;
  }

  get(key: number): Value | undefined {
    return this.shelfOf(key)?.items.get(key);
  }

  has(key: number): boolean {
    return this.shelfOf(key)?.items.has(key) ?? false;
  }

  set(key: number, value: Value): void {
    const shelf = this.shelfFor(key);
    const before = shelf.items.size;
    shelf.items.set(key, value);
    if (key > shelf.to) shelf.to = key;
    this.count += shelf.items.size - before;
  }

  delete(key: number): boolean {
    const at = this.placeOf(key);
    const shelf = this.shelves[at];
    if (!shelf?.items.delete(key)) return false;
    this.count -= 1;
    if (shelf.items.size === 0) this.shelves.splice(at, 1);
    return true;
  }

  clear(): void {
    this.shelves.length = 0;
    this.count = 0;
  }

  *values(): Generator<Value> {
    for (const { items } of this.shelves) yield* items.values();
  }

  private shelfOf(key: number): Shelf<Value> | undefined {
    return this.shelves[this.placeOf(key)];
  }

  /** The chunk for a key: nearly always the last one, or a new one after it. */
  private shelfFor(key: number): Shelf<Value> {
    const last = this.shelves[this.shelves.length - 1];
    if (last !== undefined && key <= last.to) return this.shelfOf(key) ?? last;
    if (last !== undefined && last.items.size < SHELF) return last;
    const made: Shelf<Value> = { from: key, to: key, items: new Map() };
    this.shelves.push(made);
    return made;
  }

  /** Index of the last chunk that starts at or before the key; the first if none does. */
  private placeOf(key: number): number {
    const { shelves } = this;
    let low = 0;
    let high = shelves.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((shelves[middle]?.from ?? 0) <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
