import { Store } from "./store.js";

export const SPEEDS = [1, 2, 5, 20] as const;

/** Shows a session as it was at any moment, and plays it. Of moments that are asked for while one is read, the last one counts. */
export abstract class Replay<M> extends Store {
  isPlaying = false;
  speed: number = SPEEDS[0];
  error: Error | null = null;
  readonly #abort = new AbortController();
  #wanted: { readonly moment: M } | null = null;
  #isReading = false;
  #lastFrame = 0;

  /** Reads a moment and shows it. */
  protected abstract read(moment: M): Promise<void>;

  /** Moves on by a time, in milliseconds, while a session is played. */
  protected abstract advance(elapsed: number): void;

  /** Shows the moment so many steps later, or earlier. */
  abstract step(steps: number): void;

  /** Aborts once the session is not looked at any more. */
  protected get signal(): AbortSignal {
    return this.#abort.signal;
  }

  show(moment: M): void {
    this.#wanted = { moment };
    void this.#readWanted();
  }

  play(): void {
    this.isPlaying = true;
    this.#lastFrame = performance.now();
    requestAnimationFrame((now) => this.#frame(now));
    this.changed();
  }

  pause(): void {
    this.isPlaying = false;
    this.changed();
  }

  setSpeed(speed: number): void {
    this.speed = speed;
    this.changed();
  }

  close(): void {
    this.isPlaying = false;
    this.#abort.abort();
  }

  protected fail(error: unknown): void {
    if (this.signal.aborted) return;
    this.error = error instanceof Error ? error : new Error(String(error));
    this.isPlaying = false;
    this.changed();
  }

  #frame(now: number): void {
    if (!this.isPlaying) return;
    requestAnimationFrame((next) => this.#frame(next));
    // The next moment waits for the last one to be shown.
    if (this.#isReading) return;
    const elapsed = (now - this.#lastFrame) * this.speed;
    this.#lastFrame = now;
    this.advance(elapsed);
  }

  async #readWanted(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#wanted && !this.signal.aborted) {
      const { moment } = this.#wanted;
      this.#wanted = null;
      try {
        await this.read(moment);
        this.error = null;
        this.changed();
      } catch (error) {
        this.fail(error);
      }
    }
    this.#isReading = false;
  }
}
