// A map that forgets: what was neither set nor read for long is let go, and nobody keeps a list of who was used when.

/**
 * Holds what was used last: at least `most` entries, at most twice as many. Of two maps the younger takes what is set or read; when it is
 * full it becomes the older, and what only the former older had is gone. So nothing is ever moved about in a map of thousands.
 */
export class Recent<Key, Value extends object> {
  private younger = new Map<Key, Value>();
  private older = new Map<Key, Value>();
  private readonly most: number;

  constructor(most: number) {
    this.most = most;
  }

  get(key: Key): Value | undefined {
    const known = this.younger.get(key);
    if (known !== undefined) return known;
    const former = this.older.get(key);
    if (former !== undefined) this.set(key, former);
    return former;
  }

  has(key: Key): boolean {
    return this.younger.has(key) || this.older.has(key);
  }

  set(key: Key, value: Value): void {
    this.younger.set(key, value);
    if (this.younger.size < this.most) return;
    this.older = this.younger;
    this.younger = new Map();
  }

  delete(key: Key): void {
    this.younger.delete(key);
    this.older.delete(key);
  }

  clear(): void {
    this.younger.clear();
    this.older.clear();
  }
}
