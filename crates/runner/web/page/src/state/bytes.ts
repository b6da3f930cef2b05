import type { Client, Range } from "@bowline/client";
import { cutLines, type LogLine } from "../text/lines.js";
import { Store } from "./store.js";

/** Bytes before the selected range that are read with it. */
const BEFORE = 16 << 10;

/** Bytes that are read at once. */
const WINDOW = 256 << 10;

/** Part of the agent's output around what is selected. */
export class BytesStore extends Store {
  lines: readonly LogLine[] = [];
  gap: Range | null = null;
  /** End of the whole stream. */
  end = 0;
  selected: Range | null = null;
  error: Error | null = null;
  #abort = new AbortController();

  constructor(
    readonly client: Client,
    readonly session: string,
  ) {
    super();
  }

  /** Selects a range of the output, and reads what is around it. */
  async select(range: Range): Promise<void> {
    this.selected = range;
    this.changed();
    const isThere = this.lines.length > 0 && this.lines[0]!.from <= range[0] && this.lines.at(-1)!.to >= range[1];
    if (!isThere) await this.read(Math.max(0, range[0] - BEFORE));
  }

  /** Reads the lines from an offset on. */
  async read(from: number): Promise<void> {
    this.#abort.abort();
    this.#abort = new AbortController();
    try {
      const slice = await this.client.log(this.session, from, WINDOW, this.#abort.signal);
      const lines = cutLines(slice.bytes, slice.from, slice.end);
      // The end of a line that began earlier tells nothing.
      this.lines = lines.length > 1 && lines[0]!.isCut ? lines.slice(1) : lines;
      this.gap = slice.gap;
      this.end = slice.end;
      this.error = null;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.error = error instanceof Error ? error : new Error(String(error));
    }
    this.changed();
  }

  readEarlier(): Promise<void> {
    return this.read(Math.max(0, (this.lines[0]?.from ?? 0) - WINDOW / 2));
  }

  readLater(): Promise<void> {
    return this.read(this.lines.at(-1)?.from ?? 0);
  }

  close(): void {
    this.#abort.abort();
  }
}
