/**
 * The heights of the rows of a list, most of which were never measured.
 *
 * A Fenwick tree: a change, and a search by position, take logarithmic time.
 */
export class Heights {
  readonly #estimate: number;
  #heights = new Float64Array(64);
  #sums = new Float64Array(65);
  #length = 0;

  constructor(estimate: number) {
    this.#estimate = estimate;
  }

  get length(): number {
    return this.#length;
  }

  /** The height of all rows together. */
  get total(): number {
    return this.top(this.#length);
  }

  /** Adds or removes rows at the end. New rows have the estimated height. */
  resize(length: number): void {
    if (length > this.#heights.length) this.#grow(length);
    while (this.#length > length) {
      this.#length -= 1;
      this.#add(this.#length, -this.#heights[this.#length]!);
      this.#heights[this.#length] = 0;
    }
    while (this.#length < length) {
      this.#heights[this.#length] = this.#estimate;
      this.#add(this.#length, this.#estimate);
      this.#length += 1;
    }
  }

  /** Sets the height of a row. Returns by how much it has changed. */
  set(row: number, height: number): number {
    if (row >= this.#length) return 0;
    const change = height - this.#heights[row]!;
    if (change !== 0) {
      this.#heights[row] = height;
      this.#add(row, change);
    }
    return change;
  }

  height(row: number): number {
    return this.#heights[row] ?? 0;
  }

  /** Returns the distance of a row's top from that of the list. */
  top(row: number): number {
    let sum = 0;
    for (let at = Math.min(row, this.#length); at > 0; at -= at & -at) sum += this.#sums[at]!;
    return sum;
  }

  /** Returns the row at a distance from the top of the list. */
  rowAt(y: number): number {
    let row = 0;
    let rest = y;
    for (let step = highestPower(this.#heights.length); step > 0; step >>= 1) {
      const next = row + step;
      if (next <= this.#length && this.#sums[next]! <= rest) {
        row = next;
        rest -= this.#sums[next]!;
      }
    }
    return Math.max(0, Math.min(row, this.#length - 1));
  }

  #add(row: number, change: number): void {
    for (let at = row + 1; at < this.#sums.length; at += at & -at) this.#sums[at]! += change;
  }

  #grow(length: number): void {
    let size = this.#heights.length;
    while (size < length) size *= 2;
    const heights = new Float64Array(size);
    heights.set(this.#heights);
    this.#heights = heights;
    this.#sums = new Float64Array(size + 1);
    // Builds the tree in linear time: each node adds to its parent once.
    for (let at = 1; at <= size; at += 1) {
      this.#sums[at]! += heights[at - 1]!;
      const parent = at + (at & -at);
      if (parent <= size) this.#sums[parent]! += this.#sums[at]!;
    }
  }
}

function highestPower(limit: number): number {
  let power = 1;
  while (power * 2 <= limit) power *= 2;
  return power;
}
