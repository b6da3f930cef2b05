/** The state of a connection that is restored by itself. */
export type ConnectionState = {
    readonly state: "connecting";
} | {
    readonly state: "connected";
}
/** `retryAt` is a time of `Date.now()`. */
 | {
    readonly state: "reconnecting";
    readonly attempt: number;
    readonly retryAt: number;
    readonly error: Error;
}
/** It is not tried again: the token was revoked, or the session is gone. */
 | {
    readonly state: "failed";
    readonly error: Error;
};
export interface FollowOptions {
    /** Where to continue: the `id` of the last event that was handled. */
    readonly lastEventId?: string | null;
    /** Ends the stream. */
    readonly signal?: AbortSignal;
    readonly onState?: (state: ConnectionState) => void;
    /** Called as `setTimeout`, and with its id as `clearTimeout`. */
    readonly timer?: Timer;
}
export interface Timer {
    set(callback: () => void, ms: number): unknown;
    clear(id: unknown): void;
}
/** Sends a request of the runner's API, with the token. */
export type Send = (path: string, init: RequestInit) => Promise<Response>;
/** The data of an event, with its cursor. */
export interface Followed<T> {
    readonly id: string | null;
    readonly data: T;
}
/**
 * Follows a stream of server-sent events whose data is JSON. A lost connection is restored, and the stream continues
 * after the last event. It ends when `signal` is aborted or the server answers 204, and throws when the runner refuses
 * it for good.
 *
 * Yields all events of one read of the network together, so that a reader can handle them at once.
 */
export declare function follow<T>(send: Send, path: string, options?: FollowOptions): AsyncGenerator<Followed<T>[], void, void>;
