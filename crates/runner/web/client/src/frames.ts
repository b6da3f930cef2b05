/** The runner's frames: `crates/wire/src/lib.rs` describes the format. */

const HEADER_BYTES = 28;
const MAX_PAYLOAD = 256 << 10;

/** Longest message that is assembled from parts, in bytes. */
const MAX_MESSAGE = 32 << 20;

const enum Kind {
  SnapshotChunk = 7,
  Data = 8,
  Input = 11,
  ExitAck = 22,
  Detach = 28,
  Last = 30,
}

const KINDS = {
  hello: 1,
  attach: 3,
  credit: 10,
  resize: 17,
  ping: 23,
  pong: 24,
} as const;

const FLAG_REPLAY = 1;
const FLAG_MORE = 8;
const FLAG_OPTIONAL = 128;

/** The stream of a terminal's output. */
export const TTY = 0;
/** The stream of a session's input. */
const INPUT = 8;

/** A message of the runner: bytes of a stream or a screen, or JSON of which the only member names the message. */
export type ReceivedFrame =
  | { readonly type: "data"; readonly stream: number; readonly offset: number; readonly bytes: Uint8Array; readonly isReplay: boolean }
  | { readonly type: "chunk"; readonly bytes: Uint8Array }
  | { readonly type: "json"; readonly name: string; readonly value: Readonly<Record<string, unknown>> };

/** Encodes a message that is JSON. */
export function jsonFrame(name: keyof typeof KINDS, value: Readonly<Record<string, unknown>>, generation = 0): Uint8Array {
  const payload = new TextEncoder().encode(JSON.stringify({ [name]: value }));
  return frame(KINDS[name], 0, 0, generation, payload);
}

/** Encodes bytes of input, at most {@link MAX_PAYLOAD} of them. */
export function inputFrame(offset: number, bytes: Uint8Array, generation: number): Uint8Array {
  return frame(Kind.Input, INPUT, offset, generation, bytes);
}

export function detachFrame(generation: number): Uint8Array {
  return frame(Kind.Detach, 0, 0, generation, new Uint8Array());
}

export function exitAckFrame(generation: number): Uint8Array {
  return frame(Kind.ExitAck, 0, 0, generation, new Uint8Array());
}

function frame(kind: number, stream: number, offset: number, generation: number, payload: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + payload.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, payload.length, true);
  bytes[4] = kind;
  view.setUint16(6, stream, true);
  view.setBigUint64(8, BigInt(offset), true);
  view.setBigUint64(16, BigInt(generation), true);
  bytes.set(payload, HEADER_BYTES);
  view.setUint32(24, checksum(bytes), true);
  return bytes;
}

/** Decodes messages of whole frames. A message may be in several frames, and those in several WebSocket messages. */
export class FrameDecoder {
  #parts: Uint8Array[] = [];
  #length = 0;

  /** Returns the messages that a WebSocket message completes. Throws if it was damaged in transit. */
  push(bytes: Uint8Array): ReceivedFrame[] {
    const received: ReceivedFrame[] = [];
    for (let at = 0; at < bytes.length; ) {
      if (bytes.length - at < HEADER_BYTES) throw new Error("a frame is cut");
      const view = new DataView(bytes.buffer, bytes.byteOffset + at);
      const length = view.getUint32(0, true);
      const end = at + HEADER_BYTES + length;
      if (length > MAX_PAYLOAD || end > bytes.length) throw new Error("a frame has a wrong length");
      const whole = bytes.subarray(at, end);
      if (checksum(whole) !== view.getUint32(24, true)) throw new Error("a frame was damaged in transit");
      const message = this.#read(whole, view);
      if (message) received.push(message);
      at = end;
    }
    return received;
  }

  #read(whole: Uint8Array, view: DataView): ReceivedFrame | null {
    const [kind, flags] = [whole[4]!, whole[5]!];
    const payload = whole.subarray(HEADER_BYTES);
    const offset = Number(view.getBigUint64(8, true));
    if (kind === Kind.Data) {
      const isReplay = (flags & FLAG_REPLAY) !== 0;
      return { type: "data", stream: view.getUint16(6, true), offset, bytes: payload, isReplay };
    }
    if (kind === Kind.SnapshotChunk) return { type: "chunk", bytes: payload };
    if (kind > Kind.Last && (flags & FLAG_OPTIONAL) === 0) throw new Error("the runner is newer than this page; reload the page");
    this.#parts.push(payload);
    this.#length += payload.length;
    if (this.#length > MAX_MESSAGE) throw new Error("a message is too long");
    if ((flags & FLAG_MORE) !== 0) return null;
    const json = joined(this.#parts);
    this.#parts = [];
    this.#length = 0;
    return kind > Kind.Last || json.length === 0 ? null : parsed(json);
  }
}

function parsed(json: Uint8Array): ReceivedFrame | null {
  const message = JSON.parse(new TextDecoder().decode(json)) as Record<string, Record<string, unknown>>;
  const name = Object.keys(message)[0];
  return name === undefined ? null : { type: "json", name, value: message[name]! };
}

/** Joins parts of bytes. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** CRC-32C (RFC 3720) of a frame without the checksum itself. */
function checksum(whole: Uint8Array): number {
  const head = crc32c(whole.subarray(0, 24), 0);
  return crc32c(whole.subarray(HEADER_BYTES), head);
}

const POLYNOMIAL = 0x82f63b78;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
  return value;
});

/** Continues a checksum with more bytes. */
export function crc32c(bytes: Uint8Array, before = 0): number {
  let value = ~before;
  for (const byte of bytes) value = (value >>> 8) ^ TABLE[(value ^ byte) & 0xff]!;
  return ~value >>> 0;
}
