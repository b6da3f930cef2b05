import { Backoff } from "./backoff.js";
import { FrameDecoder, TTY, detachFrame, exitAckFrame, inputFrame, joined, jsonFrame, type ReceivedFrame } from "./frames.js";
import { REAL_TIMER, type Timer } from "./events.js";

/** Bytes of output that may be in transit, or be not drawn yet. */
const CREDIT = 512 << 10;

/** Maximum bytes of input in one frame. */
const MAX_INPUT = 64 << 10;

/** Maximum bytes of input that the session has not acknowledged. More is refused. */
const MAX_UNACKNOWLEDGED = 1 << 20;

const PING_MS = 9_000;
const DEAD_MS = 14_000;

/** Whether a client only sees the terminal, or also types and decides its size. One client types at a time. */
export type TerminalMode = "read" | "write";

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

export interface TerminalExit {
  readonly code: number | null;
  readonly signal: number | null;
}

export type TerminalState =
  | { readonly state: "connecting" }
  | { readonly state: "attached"; readonly mode: TerminalMode }
  /** Another client types now. This one is attached again, and sees what it does. */
  | { readonly state: "taken_over" }
  | { readonly state: "reconnecting"; readonly attempt: number; readonly error: Error }
  | { readonly state: "ended"; readonly exit: TerminalExit | null }
  | { readonly state: "failed"; readonly error: Error };

/** Receives what a terminal shows. */
export interface TerminalReader {
  /** Replaces all that is shown by a screen. */
  screen(bytes: Uint8Array, size: TerminalSize): void;
  /** Shows more output, and calls `done` once it is drawn. Terminal queries in a replay are not to be answered. */
  output(bytes: Uint8Array, isReplay: boolean, done: () => void): void;
  /** The terminal has another size. */
  resized(size: TerminalSize): void;
  state(state: TerminalState): void;
  /** So many bytes of input have not arrived, and are not sent again: another client has typed since. */
  lost(bytes: number): void;
}

/** Opens a WebSocket to the frames of a session. */
export type OpenSocket = () => WebSocket;

/** Finds out why a connection was refused: how the session has ended, or `null` if it runs. Throws if it is gone. */
export type FindEnd = () => Promise<{ readonly exit: TerminalExit | null } | null>;

export interface TerminalOptions {
  readonly mode?: TerminalMode;
  /** The size for `write`. */
  readonly size?: TerminalSize;
  /** The name of this client, which others see. */
  readonly name?: string;
  readonly timer?: Timer;
}

/**
 * A terminal session, attached through the runner's frames. A lost connection is restored: the output continues at its
 * offset, so nothing is drawn again; input that was not acknowledged is sent again, unless another client has typed.
 */
export class TerminalConnection {
  readonly #reader: TerminalReader;
  readonly #open: OpenSocket;
  readonly #findEnd: FindEnd;
  readonly #session: string;
  readonly #name: string;
  readonly #timer: Timer;
  readonly #backoff = new Backoff();
  #socket: WebSocket | null = null;
  #decoder = new FrameDecoder();
  #mode: TerminalMode;
  #size: TerminalSize | undefined;
  #isAttached = false;
  #isClosed = false;
  #attempt = 0;
  #epoch: string | null = null;
  #generation = 0;
  /** The next byte of the output; `null` if a screen is needed first. */
  #next: number | null = null;
  #inputNext = 0;
  #unacknowledged: Uint8Array[] = [];
  #unacknowledgedBytes = 0;
  #resizes = 0;
  #snapshot: { parts: Uint8Array[]; missing: number; size: TerminalSize; at: number } | null = null;
  #ping: unknown = null;
  #dead: unknown = null;
  #retry: unknown = null;

  constructor(session: string, reader: TerminalReader, open: OpenSocket, findEnd: FindEnd, options: TerminalOptions = {}) {
    this.#session = session;
    this.#reader = reader;
    this.#open = open;
    this.#findEnd = findEnd;
    this.#mode = options.mode ?? "read";
    this.#size = options.size;
    this.#name = options.name ?? "web";
    this.#timer = options.timer ?? REAL_TIMER;
    this.#connect();
  }

  get mode(): TerminalMode {
    return this.#mode;
  }

  /** Takes the right to type, or gives it up. */
  setMode(mode: TerminalMode, size?: TerminalSize): void {
    if (size) this.#size = size;
    if (mode === this.#mode) return;
    this.#mode = mode;
    this.#reconnect();
  }

  /** Sets the size of the terminal. Without the right to type nothing happens. */
  resize(size: TerminalSize): void {
    this.#size = size;
    if (!this.#isAttached || this.#mode !== "write") return;
    this.#resizes += 1;
    this.#send(jsonFrame("resize", { seq: this.#resizes, size }, this.#generation));
  }

  /** Sends input. Returns `false` if it is refused: this client does not type, or is not connected. */
  input(bytes: Uint8Array): boolean {
    const isTooMuch = this.#unacknowledgedBytes + bytes.length > MAX_UNACKNOWLEDGED;
    if (!this.#isAttached || this.#mode !== "write" || isTooMuch) return false;
    for (let at = 0; at < bytes.length; at += MAX_INPUT) {
      const part = bytes.slice(at, at + MAX_INPUT);
      const offset = this.#inputNext + this.#unacknowledgedBytes;
      this.#unacknowledged.push(part);
      this.#unacknowledgedBytes += part.length;
      this.#send(inputFrame(offset, part, this.#generation));
    }
    return true;
  }

  /** Shows the screen as the session has it, from nothing. */
  refresh(): void {
    this.#next = null;
    this.#reconnect();
  }

  /** Detaches. The session goes on. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#isAttached) this.#send(detachFrame(this.#generation));
    this.#disconnect();
    this.#timer.clear(this.#retry);
  }

  #reconnect(): void {
    if (this.#isClosed) return;
    if (this.#isAttached) this.#send(detachFrame(this.#generation));
    this.#disconnect();
    this.#connect();
  }

  #connect(): void {
    this.#timer.clear(this.#retry);
    this.#reader.state({ state: "connecting" });
    const socket = this.#open();
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    this.#decoder = new FrameDecoder();
    this.#snapshot = null;
    let wasOpen = false;
    socket.onopen = () => {
      wasOpen = true;
      this.#heard();
      this.#pingLater();
      this.#send(jsonFrame("hello", { versions: [1, 1] }));
      this.#send(jsonFrame("attach", this.#attach()));
    };
    socket.onmessage = ({ data }) => {
      if (socket !== this.#socket) return;
      this.#heard();
      try {
        const frames = this.#decoder.push(new Uint8Array(data as ArrayBuffer));
        for (const frame of frames) if (socket === this.#socket) this.#receive(frame);
      } catch (error) {
        this.#lost(error instanceof Error ? error : new Error(String(error)));
      }
    };
    socket.onclose = ({ reason }) => {
      if (socket !== this.#socket) return;
      const error = new Error(reason || "the runner does not answer");
      if (wasOpen) this.#lost(error);
      else void this.#refused(error);
    };
  }

  #attach(): Record<string, unknown> {
    const canResume = this.#epoch !== null && this.#next !== null;
    const { size } = this;
    return {
      session: this.#session,
      epoch: this.#epoch,
      cursors: { [TTY]: this.#next ?? 0 },
      mode: canResume ? "resume" : "snapshot",
      lease: this.#mode,
      resume_generation: this.#generation > 0 && this.#mode === "write" ? this.#generation : null,
      size: this.#mode === "write" && size ? size : null,
      credit: CREDIT,
      client: this.#name,
    };
  }

  get size(): TerminalSize | undefined {
    return this.#size;
  }

  #receive(frame: ReceivedFrame): void {
    if (frame.type === "data") {
      if (frame.stream === TTY) this.#output(frame.offset, frame.bytes, frame.isReplay);
      return;
    }
    if (frame.type === "chunk") return this.#chunk(frame.bytes);
    const { name, value } = frame;
    switch (name) {
      case "attached":
        return this.#attached(value);
      case "snapshot": {
        const { at_offset, size, total } = value as { at_offset: number; size: TerminalSize; total: number };
        this.#snapshot = { parts: [], missing: total, size, at: at_offset };
        if (total === 0) this.#chunk(new Uint8Array());
        return;
      }
      case "gap":
        // What follows does not continue what is shown.
        return this.refresh();
      case "input_ack":
        return this.#acknowledged(value["offset"] as number);
      case "input_refused":
        this.#acknowledged(value["to"] as number);
        return this.#reader.lost((value["to"] as number) - (value["from"] as number));
      case "fenced":
        return this.#takenOver();
      case "exit":
        if (this.#mode === "write") this.#send(exitAckFrame(this.#generation));
        return this.#end(exitOf(value));
      case "ping":
        this.#send(jsonFrame("pong", { nonce: value["nonce"] }));
        return;
      case "error":
        return this.#failedRequest(value);
    }
  }

  #attached(value: Readonly<Record<string, unknown>>): void {
    const attached = value as { epoch: string; generation: number; input_next: number; info: { stdio: string; size: TerminalSize | null } };
    if (attached.info.stdio !== "pty") return this.#fail(new Error("the session has no terminal"));
    if (this.#epoch !== attached.epoch) this.#next = null;
    this.#epoch = attached.epoch;
    this.#isAttached = true;
    this.#attempt = 0;
    this.#backoff.reset();
    if (this.#mode === "write") this.#resumeInput(attached.generation, attached.input_next);
    const { size } = attached.info;
    if (size && this.#mode === "read") this.#reader.resized({ cols: size.cols, rows: size.rows });
    this.#reader.state({ state: "attached", mode: this.#mode });
    if (this.#mode === "write" && this.#size) this.resize(this.#size);
  }

  /** Sends input again that the session has not, if the offsets are still those of this client alone. */
  #resumeInput(generation: number, next: number): void {
    const isSame = this.#generation > 0 && generation === this.#generation;
    this.#generation = generation;
    this.#resizes = 0;
    if (isSame) this.#acknowledged(next);
    const pending = isSame ? joined(this.#unacknowledged) : new Uint8Array();
    const lost = this.#unacknowledgedBytes - pending.length;
    this.#unacknowledged = [];
    this.#unacknowledgedBytes = 0;
    this.#inputNext = next;
    if (lost > 0) this.#reader.lost(lost);
    if (pending.length > 0) this.input(pending);
  }

  #acknowledged(offset: number): void {
    let bytes = Math.min(offset - this.#inputNext, this.#unacknowledgedBytes);
    if (bytes <= 0) return;
    this.#inputNext += bytes;
    this.#unacknowledgedBytes -= bytes;
    while (bytes > 0) {
      const first = this.#unacknowledged[0]!;
      if (first.length <= bytes) this.#unacknowledged.shift();
      else this.#unacknowledged[0] = first.subarray(bytes);
      bytes -= first.length;
    }
  }

  #output(offset: number, bytes: Uint8Array, isReplay: boolean): void {
    const grant = () => {
      if (this.#isAttached) this.#send(jsonFrame("credit", { stream: TTY, n: bytes.length }));
    };
    const next = this.#next ?? offset;
    if (offset > next) return this.refresh();
    const fresh = bytes.subarray(next - offset);
    this.#next = Math.max(next, offset + bytes.length);
    if (fresh.length === 0) return grant();
    const socket = this.#socket;
    // Credit of an earlier connection is of no use to this one.
    this.#reader.output(fresh, isReplay, () => socket === this.#socket && grant());
  }

  #chunk(bytes: Uint8Array): void {
    const snapshot = this.#snapshot;
    if (!snapshot) return;
    snapshot.parts.push(bytes);
    snapshot.missing -= bytes.length;
    if (snapshot.missing > 0) return;
    this.#snapshot = null;
    this.#next = snapshot.at;
    this.#reader.screen(joined(snapshot.parts), { cols: snapshot.size.cols, rows: snapshot.size.rows });
  }

  #takenOver(): void {
    if (this.#unacknowledgedBytes > 0) this.#reader.lost(this.#unacknowledgedBytes);
    this.#unacknowledged = [];
    this.#unacknowledgedBytes = 0;
    this.#generation = 0;
    this.#mode = "read";
    this.#isAttached = false;
    this.#reader.state({ state: "taken_over" });
    this.#reconnect();
  }

  #failedRequest(value: Readonly<Record<string, unknown>>): void {
    const { retryable, detail } = value as { retryable: boolean; detail: string };
    const error = new Error(detail);
    if (retryable || this.#isAttached) this.#lost(error);
    else this.#fail(error);
  }

  /** Refused before it was open: a browser does not say why. */
  async #refused(error: Error): Promise<void> {
    this.#disconnect();
    try {
      const end = await this.#findEnd();
      if (this.#isClosed) return;
      if (end) this.#end(end.exit);
      else this.#lost(error);
    } catch (cause) {
      if (!this.#isClosed) this.#lost(cause instanceof Error ? cause : error);
    }
  }

  #lost(error: Error): void {
    if (this.#isClosed) return;
    if ("isTemporary" in error && !error.isTemporary) return this.#fail(error);
    this.#disconnect();
    this.#attempt += 1;
    this.#reader.state({ state: "reconnecting", attempt: this.#attempt, error });
    this.#retry = this.#timer.set(() => this.#connect(), this.#backoff.pause());
  }

  #end(exit: TerminalExit | null): void {
    this.#isClosed = true;
    this.#disconnect();
    this.#reader.state({ state: "ended", exit });
  }

  #fail(error: Error): void {
    this.#isClosed = true;
    this.#disconnect();
    this.#reader.state({ state: "failed", error });
  }

  #disconnect(): void {
    this.#timer.clear(this.#ping);
    this.#timer.clear(this.#dead);
    this.#isAttached = false;
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #send(bytes: Uint8Array): void {
    if (this.#socket?.readyState === 1) this.#socket.send(bytes as Uint8Array<ArrayBuffer>);
  }

  #heard(): void {
    this.#timer.clear(this.#dead);
    this.#dead = this.#timer.set(() => this.#lost(new Error("nothing arrived on the connection")), DEAD_MS);
  }

  #pingLater(): void {
    this.#timer.clear(this.#ping);
    this.#ping = this.#timer.set(() => {
      this.#send(jsonFrame("ping", { nonce: 1 }));
      this.#pingLater();
    }, PING_MS);
  }
}

function exitOf(value: Readonly<Record<string, unknown>>): TerminalExit {
  const status = value["status"] as "unknown" | { code?: number; signal?: number };
  if (typeof status === "string") return { code: null, signal: null };
  return { code: status.code ?? null, signal: status.signal ?? null };
}
