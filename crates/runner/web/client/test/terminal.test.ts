// A terminal over connections that are cut, refused, silent and taken over, with a socket and a timer of the test.
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { test } from "node:test";
import { Backoff, TerminalConnection, type TerminalReader, type TerminalState, type Timer } from "@bowline/client";
import { TTY, crc32c } from "../src/frames.js";

const HEADER_BYTES = 28;
const PING_MS = 9_000;
const DEAD_MS = 14_000;
const SIZE = { cols: 80, rows: 24 };

/** Types of the frames that a runner sends. */
const KINDS = { attached: 4, snapshot: 6, chunk: 7, data: 8, input_ack: 13, exit: 21, fenced: 25, error: 27 };

/** Types of the frames that a client sends. */
const ATTACH = 3;
const INPUT = 11;

interface SentFrame {
  readonly kind: number;
  readonly offset: number;
  readonly payload: string;
}

/** The client's end of a connection, and what the runner does at the other one. */
class FakeSocket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: ArrayBuffer }) => void) | null = null;
  onclose: ((event: { reason: string }) => void) | null = null;
  binaryType = "blob";
  readyState = 0;
  readonly sent: SentFrame[] = [];

  send(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const payload = new TextDecoder().decode(bytes.subarray(HEADER_BYTES));
    this.sent.push({ kind: bytes[4]!, offset: Number(view.getBigUint64(8, true)), payload });
  }

  close(): void {
    this.readyState = 3;
  }

  open(): void {
    this.readyState = 1;
    this.onopen!();
  }

  drop(reason = ""): void {
    this.readyState = 3;
    this.onclose!({ reason });
  }

  bytes(kind: "chunk" | "data", text: string, offset = 0): void {
    this.#receive(KINDS[kind], new TextEncoder().encode(text), offset);
  }

  json(name: keyof typeof KINDS, value: unknown): void {
    this.#receive(KINDS[name], new TextEncoder().encode(JSON.stringify({ [name]: value })), 0);
  }

  #receive(kind: number, payload: Uint8Array, offset: number): void {
    const bytes = new Uint8Array(HEADER_BYTES + payload.length);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, payload.length, true);
    bytes[4] = kind;
    view.setUint16(6, kind === KINDS.data ? TTY : 0, true);
    view.setBigUint64(8, BigInt(offset), true);
    bytes.set(payload, HEADER_BYTES);
    view.setUint32(24, crc32c(payload, crc32c(bytes.subarray(0, 24))), true);
    this.onmessage!({ data: bytes.buffer });
  }

  /** The request to attach. */
  get attach(): Record<string, unknown> {
    const frame = this.sent.find(({ kind }) => kind === ATTACH);
    return (JSON.parse(frame!.payload) as { attach: Record<string, unknown> }).attach;
  }

  /** The input, as offset and text. */
  get input(): [number, string][] {
    return this.sent.filter(({ kind }) => kind === INPUT).map(({ offset, payload }) => [offset, payload]);
  }

  attached(generation = 0, input_next = 0, epoch = "e"): void {
    this.json("attached", { epoch, generation, input_next, info: { stdio: "pty", size: SIZE } });
  }

  screen(text: string, at_offset: number): void {
    this.json("snapshot", { at_offset, size: SIZE, total: text.length });
    this.bytes("chunk", text);
  }
}

/** A timer whose callbacks run when the test says so. */
class ManualTimer implements Timer {
  readonly pending = new Map<number, { callback: () => void; ms: number }>();
  #next = 0;

  set(callback: () => void, ms: number): number {
    this.#next += 1;
    this.pending.set(this.#next, { callback, ms });
    return this.#next;
  }

  clear(id: unknown): void {
    this.pending.delete(id as number);
  }

  fire(is: (ms: number) => boolean): number {
    const [id, { callback, ms }] = [...this.pending].find(([, it]) => is(it.ms))!;
    this.pending.delete(id);
    callback();
    return ms;
  }

  /** Ends the pause before the next attempt, and returns its length. */
  retry(): number {
    return this.fire((ms) => ms !== PING_MS && ms !== DEAD_MS);
  }
}

/** A terminal, and what it shows. */
class Shown implements TerminalReader {
  readonly sockets: FakeSocket[] = [];
  readonly timer = new ManualTimer();
  readonly states: TerminalState[] = [];
  text = "";
  lostBytes = 0;
  end: { exit: { code: number | null; signal: number | null } | null } | null = null;
  readonly connection: TerminalConnection;

  constructor(mode: "read" | "write") {
    const open = () => {
      this.sockets.push(new FakeSocket());
      return this.socket as unknown as WebSocket;
    };
    const findEnd = () => Promise.resolve(this.end);
    const options = { mode, size: SIZE, name: "test", timer: this.timer };
    this.connection = new TerminalConnection("s", this, open, findEnd, options);
  }

  get socket(): FakeSocket {
    return this.sockets.at(-1)!;
  }

  get last(): TerminalState {
    return this.states.at(-1)!;
  }

  screen(bytes: Uint8Array): void {
    this.text = new TextDecoder().decode(bytes);
  }

  output(bytes: Uint8Array, _isReplay: boolean, done: () => void): void {
    this.text += new TextDecoder().decode(bytes);
    done();
  }

  resized(): void {}

  lost(bytes: number): void {
    this.lostBytes += bytes;
  }

  state(state: TerminalState): void {
    this.states.push(state);
  }

  /** Ends the pause, and opens the next connection. */
  reconnect(): void {
    this.timer.retry();
    this.socket.open();
  }
}

/** Waits for what the client finds out before its next step. */
const found = () => new Promise((resolve) => setImmediate(resolve));

/** A terminal that is attached and shows a screen at offset 10. */
function attached(mode: "read" | "write", generation = 0): Shown {
  const shown = new Shown(mode);
  shown.socket.open();
  shown.socket.attached(generation);
  shown.socket.screen("$ ", 10);
  return shown;
}

test("a lost connection continues at its offset, and shows nothing twice", () => {
  const shown = attached("read");
  deepStrictEqual([shown.socket.attach["mode"], shown.socket.attach["epoch"]], ["snapshot", null]);
  shown.socket.bytes("data", "make\n", 10);
  shown.socket.drop("the runner stops");
  const lost = shown.last;
  strictEqual(lost.state, "reconnecting");
  ok(lost.state === "reconnecting" && lost.attempt === 1 && lost.error.message === "the runner stops");

  shown.reconnect();
  const { mode, epoch, cursors } = shown.socket.attach;
  deepStrictEqual({ mode, epoch, cursors }, { mode: "resume", epoch: "e", cursors: { [TTY]: 15 } });
  shown.socket.attached();
  shown.socket.bytes("data", "ke\nok\n", 12);
  strictEqual(shown.text, "$ make\nok\n");
  deepStrictEqual(
    shown.states.map(({ state }) => state),
    ["connecting", "attached", "reconnecting", "connecting", "attached"],
  );
  shown.connection.close();
  strictEqual(shown.timer.pending.size, 0, "no timer is left");
});

test("output that is missing, or of another run, is replaced by the screen", () => {
  const shown = attached("read");
  shown.socket.bytes("data", "lost before this", 50);
  shown.socket.open();
  strictEqual(shown.socket.attach["mode"], "snapshot");
  shown.socket.attached();
  shown.socket.screen("the screen", 66);
  shown.socket.drop();
  shown.reconnect();
  shown.socket.attached(0, 0, "restarted");
  shown.socket.screen("another", 3);
  shown.socket.bytes("data", " run", 3);
  strictEqual(shown.text, "another run");
});

test("input that was not acknowledged is sent again, once", () => {
  const shown = attached("write", 4);
  const type = (text: string) => shown.connection.input(new TextEncoder().encode(text));
  ok(type("ab") && type("cd"));
  deepStrictEqual(shown.socket.input, [[0, "ab"], [2, "cd"]]);
  shown.socket.json("input_ack", { offset: 1 });
  shown.socket.drop();
  strictEqual(type("x"), false, "it is not connected");

  shown.reconnect();
  strictEqual(shown.socket.attach["resume_generation"], 4);
  // The session has taken more than it could acknowledge.
  shown.socket.attached(4, 3);
  deepStrictEqual(shown.socket.input, [[3, "d"]]);
  strictEqual(shown.lostBytes, 0);
  shown.socket.drop();

  // Another client has typed meanwhile.
  shown.reconnect();
  shown.socket.attached(6, 9);
  deepStrictEqual(shown.socket.input, []);
  strictEqual(shown.lostBytes, 1);
  ok(type("e"));
  deepStrictEqual(shown.socket.input, [[9, "e"]]);
});

test("pauses grow until the terminal is attached again", async () => {
  const shown = new Shown("read");
  const attempts: number[] = [];
  for (let pause = Backoff.FIRST_MS; attempts.length < 8; pause = Math.min(2 * pause, Backoff.MAX_MS)) {
    shown.socket.drop();
    await found();
    const { last } = shown;
    attempts.push(last.state === "reconnecting" ? last.attempt : 0);
    const waited = shown.timer.retry();
    ok(waited >= pause / 2 && waited <= pause, `${waited} ms instead of ${pause}`);
  }
  deepStrictEqual(attempts, [1, 2, 3, 4, 5, 6, 7, 8]);
  shown.socket.open();
  shown.socket.attached();
  deepStrictEqual(shown.states.at(-1), { state: "attached", mode: "read" });
  shown.socket.drop();
  const { last } = shown;
  ok(last.state === "reconnecting" && last.attempt === 1);
  ok(shown.timer.retry() <= Backoff.FIRST_MS);
});

test("a silent connection is given up", () => {
  const shown = attached("read");
  shown.timer.fire((ms) => ms === PING_MS);
  shown.timer.fire((ms) => ms === DEAD_MS);
  const { last } = shown;
  ok(last.state === "reconnecting" && last.error.message === "nothing arrived on the connection");
});

test("another client that types is said, and this one looks on", () => {
  const shown = attached("write", 1);
  shown.connection.input(Uint8Array.of(65));
  shown.socket.json("fenced", { generation: 2 });
  strictEqual(shown.lostBytes, 1);
  strictEqual(shown.connection.mode, "read");
  shown.socket.open();
  deepStrictEqual([shown.socket.attach["lease"], shown.socket.attach["mode"]], ["read", "resume"]);
  shown.socket.attached();
  deepStrictEqual(
    shown.states.slice(-3).map(({ state }) => state),
    ["taken_over", "connecting", "attached"],
  );
  strictEqual(shown.connection.input(Uint8Array.of(66)), false);
});

test("a refusal for good and the end of the session are not tried again", async () => {
  const refused = new Shown("read");
  refused.socket.open();
  refused.socket.json("error", { code: "no_lease", retryable: false, after_ms: null, detail: "the token does not permit this" });
  ok(refused.last.state === "failed" && refused.last.error.message === "the token does not permit this");

  const ended = attached("read");
  ended.socket.json("exit", { status: { code: 3 }, oom: false, drained: "clean", ends: {} });
  deepStrictEqual(ended.last, { state: "ended", exit: { code: 3, signal: null } });

  // It ended while the connection was lost: the next one is refused.
  const late = attached("read");
  late.end = { exit: { code: null, signal: 9 } };
  late.socket.drop();
  late.timer.retry();
  late.socket.drop();
  await found();
  deepStrictEqual(late.last, { state: "ended", exit: { code: null, signal: 9 } });
  for (const { timer } of [refused, ended, late]) strictEqual(timer.pending.size, 0, "no timer is left");
});
