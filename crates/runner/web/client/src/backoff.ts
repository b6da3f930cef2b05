/** Pauses between attempts to connect: doubled each time, up to a limit, and drawn from the upper half. */
export class Backoff {
  static readonly FIRST_MS = 250;
  static readonly MAX_MS = 10_000;
  #next = Backoff.FIRST_MS;

  /** Returns the next pause, in milliseconds. `random` is from 0 to 1. */
  pause(random: number = Math.random()): number {
    const pause = this.#next;
    this.#next = Math.min(pause * 2, Backoff.MAX_MS);
    return pause * (0.5 + random / 2);
  }

  /** Begins again with the shortest pause: a connection has delivered something. */
  reset(): void {
    this.#next = Backoff.FIRST_MS;
  }
}
