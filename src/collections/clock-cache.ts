// A map that forgets: what was neither set nor read for long is let go, and nothing is moved about when it is read.

type Slot<Value> = { value: Value; isUsed: boolean };

/**
 * Holds what was used last: at least `most` entries, at most twice as many. A read only marks its entry. When the map is full, what was not
 * used since it was full before is let go, and of all others the oldest until a quarter of the room is free: entries in use, up to
 * one and a half times `most`, stay where they are for good.
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

  /** The unused go, oldest first, but never so many that fewer than `most` are left; then, while there is little room, the oldest. */
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
