// A list of a hundred thousand that changes all the time: kept in small parts, for the same reason as the shelves.

const PART_BITS = 9;
const PART = 2 ** PART_BITS;

/** An array as far as a heap or a queue needs one; see `Shelves` for what a long array costs the collector. */
export class ChunkedArray<Item> {
  private readonly deps: Item[][] = [];
  private count = 0;

  get length(): number {
    return this.count;
  }

  at(index: number): Item | undefined {
    return this.deps[index >> PART_BITS]?.[index & (PART - 1)];
  }

  /** Replaces what is there. */
  put(index: number, item: Item): void {
    const part = this.deps[index >> PART_BITS];
    if (part && index < this.count) part[index & (PART - 1)] = item;
  }

  push(item: Item): void {
    const last = this.deps.at(-1);
    if (last && last.length < PART) last.push(item);
    else this.deps.push([item]);
    this.count += 1;
  }

  pop(): Item | undefined {
    const last = this.deps.at(-1);
    const item = last?.pop();
    if (last?.length === 0) this.deps.pop();
    if (this.count > 0) this.count -= 1;
    return item;
  }

  clear(): void {
    this.deps.length = 0;
    this.count = 0;
  }
}
