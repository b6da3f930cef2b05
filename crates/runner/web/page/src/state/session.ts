import {
  Transcript,
  type Change,
  type Client,
  type ConnectionState,
  type Touched,
} from "@bowline/client";
import { Store } from "./store.js";

/** Runs a callback before the next frame is drawn. */
export type NextFrame = (callback: () => void) => void;

/** The transcript of one session, followed while it is looked at. Changes of one frame are shown together. */
export class SessionStore extends Store {
  readonly transcript = new Transcript();
  connection: ConnectionState = { state: "connecting" };
  /** What the last frame has changed. */
  touched: Touched = this.transcript.takeTouched();

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
  }

  /** Follows the session until [`close`]. */
  async follow(): Promise<void> {
    const options = {
      signal: this.#abort.signal,
      onState: (state: ConnectionState) => {
        this.connection = state;
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
