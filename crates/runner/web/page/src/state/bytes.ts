import type { CheckedMembers, Client, LineItem, LineStart, LogStream, SearchHit } from "@bowline/client";
import { Store } from "./store.js";

/** Rows that are read at once. */
const PAGE = 200;

/** Pages of rows that are kept. */
const MAX_PAGES = 40;

/** Bytes that are read at once for a download. */
const READ_BYTES = 1 << 20;

/** Bytes of a row that are shown. */
const MAX_SHOWN = 256 << 10;

const STREAMS: Record<LineItem["stream"], LogStream | null> = { output: "stdout", input: "input", stderr: "stderr", gap: null };

/** What the reader looks at: a row and its text. */
export interface ShownRow {
  readonly index: number;
  readonly item: LineItem;
  /** `null` until it was read. */
  readonly text: string | null;
  readonly isCut: boolean;
  /** Which members of its lines the runner does not read; `null` for lines without members, and until they were read. */
  readonly members: CheckedMembers | null;
}

/** The lines of a session, of which those that are looked at are read. */
export class BytesStore extends Store {
  count = 0;
  lines = 0;
  isFolded = true;
  /** The entry whose lines are marked. */
  entry: number | null = null;
  shown: ShownRow | null = null;
  /** The row to be made visible; counted, so that the same one can be asked for again. */
  target: { readonly row: number } | null = null;
  hits: readonly SearchHit[] | null = null;
  error: Error | null = null;
  readonly #pages = new Map<number, readonly LineItem[]>();
  readonly #reading = new Set<number>();
  #abort = new AbortController();
  #searching = new AbortController();

  constructor(
    readonly client: Client,
    readonly session: string,
  ) {
    super();
  }

  row(index: number): LineItem | undefined {
    const page = Math.floor(index / PAGE);
    const items = this.#pages.get(page);
    if (!items) {
      void this.#readPage(page);
      return undefined;
    }
    return items[index - page * PAGE];
  }

  /** Shows lines; those of an entry are marked. The beginning is shown without a selected line. */
  async show(start: LineStart): Promise<void> {
    if ("entry" in start) this.entry = start.entry;
    await this.#goTo(start, !("from" in start));
  }

  /** Shows the text of a row. */
  async select(index: number): Promise<void> {
    const item = this.row(index);
    if (!item) return;
    const shown: ShownRow = { index, item, text: null, isCut: false, members: null };
    this.shown = shown;
    this.changed();
    const stream = STREAMS[item.stream];
    if (stream === null) return;
    await this.#run(async (signal) => {
      const [from, to] = item.bytes;
      const max = Math.min(to - from, MAX_SHOWN);
      const isOutput = item.stream === "output";
      const [slice, members] = await Promise.all([
        this.client.log(this.session, from, max, signal, isOutput ? undefined : stream),
        item.stream === "stderr" ? null : this.client.unknownMembers(this.session, from, max, signal, isOutput ? undefined : "input"),
      ]);
      if (this.shown !== shown) return;
      this.shown = { ...shown, text: new TextDecoder().decode(slice.bytes), isCut: to - from > MAX_SHOWN, members };
    });
  }

  /** Lists each line, or lines of one kind together. */
  async setFolded(isFolded: boolean): Promise<void> {
    this.isFolded = isFolded;
    this.#pages.clear();
    const line = this.shown?.item;
    await this.#goTo(line?.stream === "output" ? { line: line.number } : { from: 0 }, line !== undefined);
  }

  /** Looks for a text in the output. */
  async search(text: string): Promise<void> {
    this.#searching.abort();
    this.#searching = new AbortController();
    this.hits = null;
    this.changed();
    if (text === "") return;
    const { signal } = this.#searching;
    try {
      let found: readonly SearchHit[] = [];
      let after: string | null = null;
      do {
        const page = await this.client.search(this.session, { q: text, in: "bytes", max: 100, ...(after !== null && { after }) }, signal);
        found = [...found, ...page.hits];
        after = page.next;
      } while (after !== null && found.length === 0);
      this.hits = found;
    } catch (error) {
      if (signal.aborted) return;
      this.error = asError(error);
    }
    this.changed();
  }

  /** Reads a range of a stream as a whole. */
  async read(stream: LineItem["stream"], from: number, to: number): Promise<Uint8Array<ArrayBuffer>[]> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for (let at = from; at < to; ) {
      const name = stream === "output" ? undefined : (STREAMS[stream] ?? undefined);
      const { bytes, gap } = await this.client.log(this.session, at, Math.min(to - at, READ_BYTES), this.#abort.signal, name);
      if (bytes.length === 0) break;
      const start = gap?.[1] ?? at;
      if (start >= to) break;
      parts.push(new Uint8Array(bytes.subarray(0, Math.min(bytes.length, to - start))));
      at = start + bytes.length;
    }
    return parts;
  }

  /** Reads the last rows again of a session that has grown, and with them how many there are. */
  grown(): void {
    const last = Math.floor(Math.max(0, this.count - 1) / PAGE);
    if (this.#reading.has(last)) return;
    void this.#readPage(last);
  }

  close(): void {
    this.#abort.abort();
    this.#searching.abort();
  }

  async #goTo(start: LineStart, isSelected = true): Promise<void> {
    let row = -1;
    await this.#run(async (signal) => {
      const { at, rows, lines } = await this.client.lines(this.session, { ...start, max: 1, fold: this.isFolded }, signal);
      this.count = this.isFolded ? rows : lines;
      this.lines = lines;
      if (this.count === 0) return;
      await this.#read(Math.floor(at / PAGE), signal);
      row = at;
      this.target = { row: at };
    });
    if (row >= 0 && isSelected) await this.select(row);
  }

  async #readPage(page: number): Promise<void> {
    if (this.#reading.has(page) || this.error) return;
    await this.#run((signal) => this.#read(page, signal));
  }

  async #read(page: number, signal: AbortSignal): Promise<void> {
    this.#reading.add(page);
    try {
      const got = await this.client.lines(this.session, { from: page * PAGE, max: PAGE, fold: this.isFolded }, signal);
      this.count = this.isFolded ? got.rows : got.lines;
      this.lines = got.lines;
      this.#pages.set(page, got.items);
      const oldest = this.#pages.keys().next().value;
      if (this.#pages.size > MAX_PAGES && oldest !== undefined) this.#pages.delete(oldest);
    } finally {
      this.#reading.delete(page);
    }
  }

  async #run(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#abort;
    try {
      await work(signal);
      this.error = null;
    } catch (error) {
      if (signal.aborted) return;
      this.error = asError(error);
    }
    this.changed();
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
