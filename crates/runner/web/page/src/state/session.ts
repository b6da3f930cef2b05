import {
  Transcript,
  type Change,
  type Client,
  type ConnectionState,
  type Touched,
} from "@bowline/client";
import { PagedTranscript, type EntrySource } from "./paged.js";
import { Store } from "./store.js";

/** An ended session with more entries is read in parts. */
const LONG = 1_000;

/** Runs a callback before the next frame is drawn. */
export type NextFrame = (callback: () => void) => void;

/** The transcript of one session, followed while it is looked at. Changes of one frame are shown together. */
export class SessionStore extends Store implements EntrySource {
  /** A long session that has ended, of which parts are read. */
  paged: PagedTranscript | null = null;
  connection: ConnectionState = { state: "connecting" };
  /** Whether the runner does not answer. It is asked once without a word when a connection ends, as it does at the end of a session. */
  isLost = false;
  /** What the last frame has changed. */
  touched: Touched;

  readonly #followed = new Transcript();
  readonly #abort = new AbortController();
  readonly #nextFrame: NextFrame;
  #isDue = false;

  constructor(
    readonly id: string,
    readonly client: Client,
    nextFrame: NextFrame = (callback) => requestAnimationFrame(callback),
  ) {
    super();
    this.#nextFrame = nextFrame;
    this.touched = this.#followed.takeTouched();
  }

  get transcript(): Transcript {
    return this.paged?.transcript ?? this.#followed;
  }

  get count(): number {
    return this.paged?.count ?? this.#followed.entryNumbers().length;
  }

  numberAt(index: number): number | undefined {
    return this.paged ? this.paged.numberAt(index) : this.#followed.entryNumbers()[index];
  }

  want(index: number): void {
    this.paged?.want(index);
  }

  /** Returns the index of an entry of the main thread. */
  async find(entry: number): Promise<number> {
    return this.paged ? this.paged.find(entry) : Math.max(0, this.#followed.entryNumbers().indexOf(entry));
  }

  /** Follows the session until [`close`]; one that is long and has ended is read in parts. */
  async follow(): Promise<void> {
    if (await this.#openInParts()) return;
    const options = {
      signal: this.#abort.signal,
      onState: (state: ConnectionState) => {
        this.connection = state;
        if (state.state === "reconnecting") this.isLost ||= state.attempt > 1;
        else if (state.state !== "connecting") this.isLost = false;
        this.#schedule();
      },
    };
    try {
      for await (const batch of this.client.changes(this.id, options)) {
        this.apply(batch.map(({ data }) => data));
      }
    } catch {
      // `onState` has it.
    }
  }

  apply(changes: readonly Change[]): void {
    for (const change of changes) this.transcript.apply(change);
    this.#schedule();
  }

  close(): void {
    this.#abort.abort();
    this.paged?.close();
  }

  async #openInParts(): Promise<boolean> {
    const paged = new PagedTranscript(this.client, this.id, null);
    const isOpen = await paged.open();
    const phase = paged.transcript.status?.phase;
    const isLong = paged.count > LONG && (phase === "ended" || phase === "lost");
    if (!isOpen || this.#abort.signal.aborted || paged.error || !isLong) {
      paged.close();
      return this.#abort.signal.aborted;
    }
    this.paged = paged;
    this.connection = { state: "connected" };
    paged.subscribe(() => this.#schedule());
    this.#schedule();
    return true;
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#nextFrame(() => {
      this.#isDue = false;
      this.touched = this.transcript.takeTouched();
      this.changed();
    });
  }
}
