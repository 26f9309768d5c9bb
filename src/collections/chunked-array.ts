// Array in chunks for large changing lists, for the same reason as ChunkedMap.

const PART_BITS = 9;
const PART = 2 ** PART_BITS;

/** The array operations that heaps and queues need; see `ChunkedMap` for the garbage collection cost of long arrays. */
export class ChunkedArray<Item> {
  private readonly chunks: Item[][] = [];
  private count = 0;

  get length(): number {
    return this.count;
  }

  at(index: number): Item | undefined {
    return this.chunks[index >> PART_BITS]?.[index & (PART - 1)];
  }

  /** Replaces an item. */
  put(index: number, item: Item): void {
    const part = this.chunks[index >> PART_BITS];
    if (part && index < this.count) part[index & (PART - 1)] = item;
  }

  push(item: Item): void {
    const last = this.chunks.at(-1);
    if (last && last.length < PART) last.push(item);
    else this.chunks.push([item]);
    this.count += 1;
  }

  pop(): Item | undefined {
    const last = this.chunks.at(-1);
    const item = last?.pop();
    if (last?.length === 0) this.chunks.pop();
    if (this.count > 0) this.count -= 1;
    return item;
  }

  clear(): void {
    this.chunks.length = 0;
    this.count = 0;
  }
}
