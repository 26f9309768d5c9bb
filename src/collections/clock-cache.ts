// Cache with the CLOCK algorithm: reads mark entries, and unused ones are evicted.

type Slot<Value> = { value: Value; isUsed: boolean };

/**
 * Holds at least `most` and at most twice as many entries. A read only marks its entry. A full cache evicts entries that were not
 * used since it was last full, and then the oldest until a quarter is free. Used entries, up to one and a half times `most`,
 * stay.
 */
export class ClockCache<Key, Value extends object> {
  private readonly slots = new Map<Key, Slot<Value>>();
  private readonly most: number;

  constructor(most: number) {
    this.most = most;
  }

  get size(): number {
    return this.slots.size;
  }

  get(key: Key): Value | undefined {
    const slot = this.slots.get(key);
    if (slot === undefined) return undefined;
    slot.isUsed = true;
    return slot.value;
  }

  keys(): Iterable<Key> {
    return this.slots.keys();
  }

  has(key: Key): boolean {
    return this.slots.has(key);
  }

  set(key: Key, value: Value): void {
    const slot = this.slots.get(key);
    if (slot !== undefined) {
      slot.value = value;
      slot.isUsed = true;
      return;
    }
    if (this.slots.size >= 2 * this.most) this.letGo();
    this.slots.set(key, { value, isUsed: false });
  }

  delete(key: Key): void {
    this.slots.delete(key);
  }

  clear(): void {
    this.slots.clear();
  }

  /** Evicts unused entries, oldest first, down to `most`; then the oldest while there is little space. */
  private letGo(): void {
    const { slots, most } = this;
    for (const [key, slot] of slots) {
      if (slot.isUsed) slot.isUsed = false;
      else if (slots.size > most) slots.delete(key);
    }
    for (const key of slots.keys()) {
      if (2 * slots.size <= 3 * most) break;
      slots.delete(key);
    }
  }
}
