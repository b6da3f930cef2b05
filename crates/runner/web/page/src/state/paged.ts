import { Transcript, type Change, type Client, type Moment, type TranscriptPart } from "@bowline/client";
import { Store } from "./store.js";

/** Entries that are read at once. */
const PAGE = 100;

/** What a list of entries shows: those of a followed transcript, or those that were read of a long one. */
export interface EntrySource {
  readonly transcript: Transcript;
  readonly count: number;
  /** The number of an entry; `undefined` if it was not read yet. */
  numberAt(index: number): number | undefined;
  /** Asks for an entry that was not read. */
  want(index: number): void;
  /** Returns the index of an entry of the main thread, after reading what is around it. */
  find(entry: number): Promise<number>;
}

/** A transcript at a moment, of which the runner sends the parts that are looked at. */
export class PagedTranscript extends Store implements EntrySource {
  readonly transcript = new Transcript();
  /** What the newest part says of the moment; `null` before the first one. */
  part: TranscriptPart | null = null;
  error: Error | null = null;
  readonly #numbers: number[] = [];
  readonly #abort = new AbortController();
  #wanted: number | null = null;
  #isReading = false;

  constructor(
    readonly client: Client,
    readonly session: string,
    readonly moment: Moment | null,
  ) {
    super();
  }

  get count(): number {
    return this.part?.entries ?? 0;
  }

  numberAt(index: number): number | undefined {
    return this.#numbers[index];
  }

  want(index: number): void {
    if (this.#numbers[index] !== undefined) return;
    this.#wanted = index;
    void this.#readWanted();
  }

  /** Reads the last entries. Returns whether it was not closed meanwhile. */
  async open(): Promise<boolean> {
    await this.#read({ max: PAGE });
    return !this.#abort.signal.aborted;
  }

  /** Returns the index of an entry of the main thread, after reading what is around it. */
  async find(entry: number): Promise<number> {
    const known = this.#numbers.indexOf(entry);
    if (known >= 0) return known;
    await this.#read({ entry, max: PAGE });
    return Math.max(0, this.#numbers.indexOf(entry));
  }

  close(): void {
    this.#abort.abort();
  }

  async #readWanted(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#wanted !== null && !this.#abort.signal.aborted) {
      const index = this.#wanted;
      this.#wanted = null;
      if (this.#numbers[index] === undefined) await this.#read({ from: index - (index % PAGE), max: PAGE });
      if (this.error) break;
    }
    this.#isReading = false;
  }

  async #read(start: { from?: number; entry?: number; max: number }): Promise<void> {
    try {
      // A part without a place is that of the end.
      const part = await this.client.part(this.session, this.moment, start, this.#abort.signal);
      this.#apply(part);
      this.error = null;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.error = error instanceof Error ? error : new Error(String(error));
    }
    this.changed();
  }

  #apply(part: TranscriptPart): void {
    const isFirst = this.part === null;
    this.part = part;
    let index = part.from;
    for (const change of part.changes) {
      if (change.change !== "reset" || isFirst) this.transcript.apply(change as Change);
      if (change.change === "entry" && change.thread === null) this.#numbers[index++] = change.entry;
    }
  }
}
