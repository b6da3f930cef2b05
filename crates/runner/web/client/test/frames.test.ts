// Frames, as `crates/wire` has them.
import { deepStrictEqual, strictEqual, throws } from "node:assert";
import { test } from "node:test";
import { FrameDecoder, crc32c, inputFrame, joined, jsonFrame } from "../src/frames.js";

test("checksum is CRC-32C", () => {
  strictEqual(crc32c(new TextEncoder().encode("123456789")), 0xe3069283);
});

test("header has its fields at their places", () => {
  const bytes = inputFrame(2 ** 40 + 5, Uint8Array.of(65, 66), 7);
  const view = new DataView(bytes.buffer);
  deepStrictEqual([view.getUint32(0, true), bytes[4], view.getUint16(6, true)], [2, 11, 8]);
  deepStrictEqual([view.getBigUint64(8, true), view.getBigUint64(16, true)], [2n ** 40n + 5n, 7n]);
  deepStrictEqual([...bytes.subarray(28)], [65, 66]);
});

test("several frames of one message are several values", () => {
  const frames = joined([jsonFrame("ping", { nonce: 1 }), jsonFrame("pong", { nonce: 2 })]);
  deepStrictEqual(new FrameDecoder().push(frames), [
    { type: "json", name: "ping", value: { nonce: 1 } },
    { type: "json", name: "pong", value: { nonce: 2 } },
  ]);
});

test("a message in parts is joined", () => {
  const whole = jsonFrame("ping", { nonce: 77 });
  const json = whole.subarray(28);
  const part = (payload: Uint8Array, more: boolean) => {
    const bytes = new Uint8Array(28 + payload.length);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, payload.length, true);
    bytes[4] = 23;
    bytes[5] = more ? 8 : 0;
    bytes.set(payload, 28);
    view.setUint32(24, crc32c(payload, crc32c(bytes.subarray(0, 24))), true);
    return bytes;
  };
  const decoder = new FrameDecoder();
  deepStrictEqual(decoder.push(part(json.subarray(0, 5), true)), []);
  deepStrictEqual(decoder.push(part(json.subarray(5), false)), [{ type: "json", name: "ping", value: { nonce: 77 } }]);
});

test("a damaged frame is refused, wherever it is damaged", () => {
  const whole = jsonFrame("ping", { nonce: 1 });
  for (let at = 0; at < whole.length; at += 1) {
    const damaged = whole.slice();
    damaged[at]! ^= 1;
    throws(() => new FrameDecoder().push(damaged), `byte ${at}`);
  }
  throws(() => new FrameDecoder().push(whole.subarray(0, -1)));
});
