import { Backoff } from "./backoff.js";
import { RunnerError } from "./error.js";
import { EventParser } from "./sse.js";

/** The state of a connection that is restored by itself. */
export type ConnectionState =
  | { readonly state: "connecting" }
  | { readonly state: "connected" }
  /** `retryAt` is a time of `Date.now()`. */
  | { readonly state: "reconnecting"; readonly attempt: number; readonly retryAt: number; readonly error: Error }
  /** It is not tried again: the token was revoked, or the session is gone. */
  | { readonly state: "failed"; readonly error: Error };

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
  /** Returns the time of the clock, in milliseconds. Default: `Date.now`. */
  now?(): number;
}

/** Sends a request of the runner's API, with the token. */
export type Send = (path: string, init: RequestInit) => Promise<Response>;

/** A connection on which nothing arrives for so long, in milliseconds, is taken for dead. The runner sends a comment every 10 s. */
const SILENCE_MS = 45_000;

/** How often the silence is measured: timers stand still while the machine sleeps, its clock does not. */
const CHECK_MS = 15_000;

/** What tells that the machine, the network or the tab is back, and that the connection may be dead. */
const WAKING = ["online", "pageshow", "visibilitychange", "resume"] as const;

export const REAL_TIMER: Timer = {
  set: (callback, ms) => setTimeout(callback, ms),
  clear: (id) => clearTimeout(id as number),
};

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
export async function* follow<T>(
  send: Send,
  path: string,
  options: FollowOptions = {},
): AsyncGenerator<Followed<T>[], void, void> {
  const { signal, timer = REAL_TIMER, onState = () => {} } = options;
  const backoff = new Backoff();
  let last = options.lastEventId ?? null;
  for (let attempt = 1; ; attempt += 1) {
    onState({ state: "connecting" });
    let error = new Error("the runner closed the connection");
    try {
      const connected = () => onState({ state: "connected" });
      const handled = (id: string | null) => (last = id ?? last);
      for await (const batch of readOnce<T>(send, path, last, timer, signal, connected, handled)) {
        if (batch === "end") return;
        backoff.reset();
        attempt = 0;
        yield batch;
      }
    } catch (cause) {
      if (signal?.aborted) return;
      error = cause instanceof Error ? cause : new Error(String(cause));
      if (error instanceof RunnerError && !error.isTemporary) {
        onState({ state: "failed", error });
        throw error;
      }
    }
    if (signal?.aborted) return;
    const pause = backoff.pause();
    onState({ state: "reconnecting", attempt: Math.max(attempt, 1), retryAt: Date.now() + pause, error });
    if (!(await wait(timer, pause, signal))) return;
  }
}

/** Reads the stream of one connection until it closes. Yields `"end"` if there is nothing to follow any more. */
async function* readOnce<T>(
  send: Send,
  path: string,
  last: string | null,
  timer: Timer,
  signal: AbortSignal | undefined,
  connected: () => void,
  handled: (id: string | null) => void,
): AsyncGenerator<Followed<T>[] | "end", void, void> {
  const silence = new Watch(timer, SILENCE_MS, signal);
  let reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  try {
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (last !== null) headers["last-event-id"] = last;
    const response = await send(path, { headers, signal: silence.signal, cache: "no-store" });
    if (response.status === 204) return yield "end";
    if (!response.ok || !response.body) throw await RunnerError.of(response);
    connected();
    const parser = new EventParser();
    const decoder = new TextDecoder();
    reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      silence.restart();
      const events = parser.push(decoder.decode(value, { stream: true }));
      if (events.length > 0) yield events.map(({ id, data }) => ({ id, data: JSON.parse(data) as T }));
      // A message of an id alone is the place where to continue, such as the end.
      handled(parser.lastEventId);
    }
  } finally {
    silence.stop();
    // Closes the connection when the consumer stops; one that has failed is closed already.
    reader?.cancel().catch(() => {});
  }
}

/** Aborts a request when nothing has arrived for a time, be it that the machine has slept. */
class Watch {
  readonly #controller = new AbortController();
  readonly #timer: Timer;
  readonly #ms: number;
  readonly #outer: AbortSignal | undefined;
  readonly #abort = () => this.#controller.abort(this.#outer?.reason);
  /** A tab that is back asks for the connection to be a live one. */
  readonly #wake = () => this.#check(CHECK_MS);
  #last = 0;
  #id: unknown = null;

  constructor(timer: Timer, ms: number, outer: AbortSignal | undefined) {
    this.#timer = timer;
    this.#ms = ms;
    this.#outer = outer;
    if (outer?.aborted) this.#abort();
    outer?.addEventListener("abort", this.#abort);
    // `visibilitychange` and `resume` bubble from the document.
    for (const type of WAKING) globalThis.addEventListener?.(type, this.#wake);
    this.restart();
    this.#checkLater();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something has arrived. */
  restart(): void {
    this.#last = this.#now();
  }

  stop(): void {
    this.#timer.clear(this.#id);
    this.#outer?.removeEventListener("abort", this.#abort);
    for (const type of WAKING) globalThis.removeEventListener?.(type, this.#wake);
  }

  #now(): number {
    return this.#timer.now?.() ?? Date.now();
  }

  #check(limit: number): void {
    if (this.#now() - this.#last >= limit) this.#controller.abort(new Error("nothing arrived on the connection"));
  }

  #checkLater(): void {
    this.#id = this.#timer.set(() => {
      this.#check(this.#ms);
      if (!this.signal.aborted) this.#checkLater();
    }, CHECK_MS);
  }
}

/** Waits; returns `false` if the signal is aborted. */
function wait(timer: Timer, ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (waited: boolean) => {
      timer.clear(id);
      signal?.removeEventListener("abort", abort);
      globalThis.removeEventListener?.("online", online);
      resolve(waited);
    };
    const abort = () => end(false);
    // A browser that is back on the network need not wait.
    const online = () => end(true);
    const id = timer.set(() => end(true), ms);
    signal?.addEventListener("abort", abort);
    globalThis.addEventListener?.("online", online);
    if (signal?.aborted) end(false);
  });
}
