/** Pauses between attempts to connect: doubled each time, up to a limit, and drawn from the upper half. */
export declare class Backoff {
    #private;
    static readonly FIRST_MS = 250;
    static readonly MAX_MS = 10000;
    /** Returns the next pause, in milliseconds. `random` is from 0 to 1. */
    pause(random?: number): number;
    /** Begins again with the shortest pause: a connection has delivered something. */
    reset(): void;
}
