var _a;
/** Pauses between attempts to connect: doubled each time, up to a limit, and drawn from the upper half. */
export class Backoff {
    static FIRST_MS = 250;
    static MAX_MS = 10_000;
    #next = _a.FIRST_MS;
    /** Returns the next pause, in milliseconds. `random` is from 0 to 1. */
    pause(random = Math.random()) {
        const pause = this.#next;
        this.#next = Math.min(pause * 2, _a.MAX_MS);
        return pause * (0.5 + random / 2);
    }
    /** Begins again with the shortest pause: a connection has delivered something. */
    reset() {
        this.#next = _a.FIRST_MS;
    }
}
_a = Backoff;
